"""Sampling a picture between its pixels, many times over: packed once, then a row at a time.

A sheet holds a word per pixel, one pixel of border all around, and black behind the end, where places
outside of the picture point. So a row of samples is a few plain loops: places and shares of neighbours,
four looks, a blend. The compiler vectorises all but the looks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.imaging import Image
from windtunnel.kernels.jit import jit

CHANNEL = np.int32(0xFF)
GREEN, BLUE = np.int32(8), np.int32(16)


@jit
def pack(image: Image, replicate: bool) -> NDArray[np.int32]:
    """A picture as a sheet; its border repeats the edge, or is black."""
    height, width = image.shape[:2]
    stride = width + 2
    sheet = np.zeros((height + 3) * stride + 2, np.int32)
    for y in range(height):
        source, row = image[y].reshape(-1), sheet[(y + 1) * stride : (y + 2) * stride]
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
    """A place of a picture's sheet that is black, with all its neighbours."""
    return (height + 2) * (width + 2)


@jit
def blend_row(
    sheet: NDArray[np.int32],
    stride: int,
    place: NDArray[np.int32],
    right: NDArray[np.float32],
    low: NDArray[np.float32],
    nudge: np.float32,
    near: NDArray[np.int32],
    target: NDArray[np.uint8],
) -> None:
    """Bilinear samples of one row of output, nudged and truncated.

    Args:
        sheet: the packed picture, `stride` words a row.
        place: where in the sheet the upper left neighbour of each sample lies.
        right, low: the shares of the neighbours to the right and below.
        nudge: added before truncation: 0 truncates, 1/2 rounds.
        near: room for four words a sample, 4 x width.
        target: the row, RGB.
    """
    count = place.size
    a, b, c, d = near[0], near[1], near[2], near[3]
    for x in range(count):
        at = np.uint64(place[x])
        a[x] = sheet[at]
        b[x] = sheet[at + np.uint64(1)]
        at += np.uint64(stride)
        c[x] = sheet[at]
        d[x] = sheet[at + np.uint64(1)]
    for x in range(count):
        red = _between(a[x], b[x], c[x], d[x], right[x], low[x]) + nudge
        green = _between(a[x] >> GREEN, b[x] >> GREEN, c[x] >> GREEN, d[x] >> GREEN, right[x], low[x]) + nudge
        blue = _between(a[x] >> BLUE, b[x] >> BLUE, c[x] >> BLUE, d[x] >> BLUE, right[x], low[x]) + nudge
        a[x] = np.int32(red) | np.int32(green) << GREEN | np.int32(blue) << BLUE
    for x in range(count):
        at = np.uint64(3 * x)
        target[at] = np.uint8(a[x])
        target[at + np.uint64(1)] = np.uint8(a[x] >> GREEN)
        target[at + np.uint64(2)] = np.uint8(a[x] >> BLUE)


@jit
def _between(a: np.int32, b: np.int32, c: np.int32, d: np.int32, right: np.float32, low: np.float32) -> float:
    """The lowest channel of four words, blended."""
    upper_left, lower_left = np.float32(a & CHANNEL), np.float32(c & CHANNEL)
    upper = upper_left + (np.float32(b & CHANNEL) - upper_left) * right
    lower = lower_left + (np.float32(d & CHANNEL) - lower_left) * right
    return upper + (lower - upper) * low
