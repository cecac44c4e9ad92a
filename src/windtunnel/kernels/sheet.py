"""Repeated bilinear sampling of an image: it is packed once, then sampled a row at a time.

A sheet has a word per pixel, one pixel of border all around, and black after the end, for positions outside
the image. A row of samples is then a few plain loops: positions and weights of neighbours, four lookups, a
blend. The compiler vectorises all but the lookups.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.kernels.jit import jit
from windtunnel.kernels.lines import lines

CHANNEL = np.int32(0xFF)
RED, GREEN, BLUE = np.int32(0), np.int32(8), np.int32(16)
Precision = TypeVar("Precision", np.float32, np.float64)


@jit
def pack(image: Image, replicate: bool) -> NDArray[np.int32]:
    """An image as a sheet; its border repeats the edge, or is black."""
    height, width = image.shape[:2]
    stride = width + 2
    sheet = np.zeros((height + 3) * stride + 2, np.int32)
    sources = lines(image)
    for y in range(height):
        source, row = sources[y], sheet[(y + 1) * stride : (y + 2) * stride]
        for x in range(width):
            at = np.uint64(3 * x)  # unsigned: no negative index to look for
            red, green, blue = source[at], source[at + np.uint64(1)], source[at + np.uint64(2)]
            row[x + 1] = np.int32(red) | np.int32(green) << GREEN | np.int32(blue) << BLUE
        if replicate:
            row[0], row[stride - 1] = row[1], row[stride - 2]
    if replicate:
        sheet[:stride] = sheet[stride : 2 * stride]
        sheet[(height + 1) * stride : (height + 2) * stride] = sheet[height * stride : (height + 1) * stride]
    return sheet


@jit
def black_place(height: int, width: int) -> int:
    """A place of an image's sheet that is black, with all its neighbours."""
    return (height + 2) * (width + 2)


@jit
def blend_row(
    sheet: NDArray[np.int32],
    stride: int,
    place: NDArray[np.int32],
    right: NDArray[Precision],
    low: NDArray[Precision],
    nudge: Precision,
    near: NDArray[np.int32],
    target: NDArray[np.uint8],
) -> None:
    """Bilinear samples of one row of output, nudged and truncated, in the precision of the shares.

    Args:
        sheet: the packed image, `stride` words a row.
        place: where in the sheet the upper left neighbour of each sample lies.
        right, low: the shares of the neighbours to the right and below.
        nudge: added before truncation: 0 truncates, 1/2 rounds.
        near: room for four words a sample, 4 x width.
        target: the row, RGB.
    """
    number = right.dtype.type
    a, b, c, d = near[0], near[1], near[2], near[3]
    for x in range(place.size):
        at = np.uint64(place[x])  # unsigned: no negative index to look for
        a[x] = sheet[at]
        b[x] = sheet[at + np.uint64(1)]
        at += np.uint64(stride)
        c[x] = sheet[at]
        d[x] = sheet[at + np.uint64(1)]
    for x in range(place.size):
        blended = np.int32(0)
        for shift in (RED, GREEN, BLUE):
            upper_left = number((a[x] >> shift) & CHANNEL)
            lower_left = number((c[x] >> shift) & CHANNEL)
            upper = upper_left + (number((b[x] >> shift) & CHANNEL) - upper_left) * right[x]
            lower = lower_left + (number((d[x] >> shift) & CHANNEL) - lower_left) * right[x]
            blended |= np.int32(upper + (lower - upper) * low[x] + nudge) << shift
        a[x] = blended
    for x in range(place.size):
        at = np.uint64(3 * x)
        target[at] = np.uint8(a[x])
        target[at + np.uint64(1)] = np.uint8(a[x] >> GREEN)
        target[at + np.uint64(2)] = np.uint8(a[x] >> BLUE)
