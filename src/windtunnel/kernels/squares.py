"""Means and medians of squares of an odd side around every pixel, with OpenCV's pixels in less time.

Both go through an image line by line, so that each step is one vector instruction for many values. Sides are
constants of the compiled functions: the compiler then unrolls the loops over a square. OpenCV itself has fast
code for sides of up to 5 pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.kernels.jit import jit
from windtunnel.kernels.scratch import scratch

Bytes = NDArray[np.uint8]
Sums = NDArray[np.uint16]
Half = np.uint16
# Up to this side OpenCV takes no more time.
FAST_PX = 5


def means(image: Image, side_px: int) -> Image:
    """`cv2.blur` with an odd side of up to 15 pixels: rounded means; the border is mirrored."""
    if side_px <= FAST_PX:
        return np.asarray(cv2.blur(image, (side_px, side_px)), np.uint8)
    height, width = image.shape[:2]
    sums = scratch("means of squares", (3 * (width + side_px - 1),), np.uint16)
    out = np.empty_like(image)
    _means_of(side_px)(image.reshape(height, -1), sums, out.reshape(height, -1))
    return out


def medians(image: Image, side_px: int) -> Image:
    """`cv2.medianBlur` with an odd side of up to 15 pixels; the border is repeated."""
    if side_px <= FAST_PX:
        return np.asarray(cv2.medianBlur(image, side_px), np.uint8)
    height, reach = image.shape[0], side_px // 2
    padded = cv2.copyMakeBorder(image, reach, reach, reach, reach, cv2.BORDER_REPLICATE)
    out = np.empty_like(image)
    rows = out.reshape(height, -1)
    memory = scratch("medians of squares", (2, rows.shape[1]), np.uint8)
    _medians_of(side_px)(np.asarray(padded, np.uint8).reshape(height + 2 * reach, -1), memory, rows)
    return out


@lru_cache(maxsize=8)
def _means_of(side: int) -> Callable[[Bytes, Sums, Bytes], None]:
    """The means of one side: columns are summed down a square, then these sums along it."""
    reach, area = side // 2, side * side
    # sum * factor >> shift is sum // area, for all sums of a square.
    shift = 15 + area.bit_length()
    factor = -(-(1 << shift) // area)

    @jit
    def fill(rows: Bytes, sums: Sums, out: Bytes) -> None:
        height, length = rows.shape
        margin = 3 * reach
        columns = sums[margin : margin + length]
        columns[:] = 0
        for y in range(-reach, reach):
            row = rows[_mirrored(y, height)]
            for x in range(length):
                columns[x] += Half(row[x])
        for y in range(height):
            below = rows[_mirrored(y + reach, height)]
            for x in range(length):
                columns[x] += Half(below[x])
            for pixel in range(1, reach + 1):
                for channel in range(3):
                    first, last = margin + channel, margin + length - 3 + channel
                    sums[first - 3 * pixel] = sums[first + 3 * pixel]
                    sums[last + 3 * pixel] = sums[last - 3 * pixel]
            target = out[y]
            for x in range(length):
                total = Half(area // 2)
                for tap in range(side):
                    total = Half(total + sums[x + 3 * tap])
                target[x] = np.uint8((np.uint32(total) * np.uint32(factor)) >> np.uint32(shift))
            above = rows[_mirrored(y - reach, height)]
            for x in range(length):
                columns[x] -= Half(above[x])

    return fill


@lru_cache(maxsize=8)
def _medians_of(side: int) -> Callable[[Bytes, Bytes, Bytes], None]:
    """The medians of one side, bit by bit: the largest level that more than half of the values reach."""
    most = np.uint8(side * side // 2)

    @jit
    def count(row: Bytes, trials: Bytes, counts: Bytes) -> None:
        for x in range(counts.size):
            trial, reached = trials[x], counts[x]
            for across in range(side):
                reached = np.uint8(reached + np.uint8(row[x + 3 * across] >= trial))
            counts[x] = reached

    @jit
    def fill(rows: Bytes, memory: Bytes, out: Bytes) -> None:
        trials, counts = memory[0], memory[1]
        for y in range(out.shape[0]):
            levels = out[y]
            levels[:] = 0
            for bit in range(7, -1, -1):
                _start(levels, np.uint8(1 << bit), trials, counts)
                for down in range(side):
                    count(rows[y + down], trials, counts)
                _choose(trials, counts, most, levels)

    return fill


@jit
def _start(levels: Bytes, step: np.uint8, trials: Bytes, counts: Bytes) -> None:
    """Try the levels with one more bit."""
    for x in range(levels.size):
        trials[x] = levels[x] | step
        counts[x] = 0


@jit
def _choose(trials: Bytes, counts: Bytes, most: np.uint8, levels: Bytes) -> None:
    """Keep the bit where more than `most` values reach the tried level."""
    for x in range(levels.size):
        trial, level = trials[x], levels[x]  # read both: the compiler does not vectorise a read on condition
        levels[x] = trial if counts[x] > most else level


@jit
def _mirrored(place: int, length: int) -> int:
    """A place beyond an end, mirrored without the last one."""
    return -place if place < 0 else 2 * length - 2 - place if place >= length else place
