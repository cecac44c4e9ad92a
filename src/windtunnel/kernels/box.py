"""Downscaling with Pillow's box filter: horizontal, then vertical, each rounded to bytes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.kernels.jit import jit

# Pillow's weights are fixed-point numbers of this many bits.
BITS = 22

ONE, TWO = np.uint64(1), np.uint64(2)

Axis = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]


def shrink(image: Image, width: int, height: int) -> Image:
    """Shrink an image to width x height."""
    return _shrink(image, *_axis(image.shape[1], width), *_axis(image.shape[0], height))


@lru_cache(maxsize=64)
def _axis(large: int, small: int) -> Axis:
    """For every output sample: the first source sample, the number of source samples, and their weight."""
    scale = large / small
    centre = (np.arange(small) + 0.5) * scale
    first = np.maximum((centre - scale / 2 + 0.5).astype(np.int64), 0)
    last = np.minimum((centre + scale / 2 + 0.5).astype(np.int64), large)
    count = np.empty(small, np.int64)
    for i in range(small):
        place = (np.arange(first[i], last[i]) - centre[i] + 0.5) / scale
        inside = np.flatnonzero((place > -0.5) & (place <= 0.5))
        first[i] += inside[0]
        count[i] = len(inside)
    return first, count, (0.5 + (1 << BITS) / count).astype(np.int32)


@jit
def _shrink(
    image: Image,
    column: NDArray[np.int64],
    columns: NDArray[np.int64],
    column_weight: NDArray[np.int32],
    row: NDArray[np.int64],
    rows: NDArray[np.int64],
    row_weight: NDArray[np.int32],
) -> Image:
    height = image.shape[0]
    half = np.int32(1 << (BITS - 1))
    narrow = np.empty((height, column.size * 3), np.uint8)
    for y in range(height):
        source, target = image[y].reshape(-1), narrow[y]
        for x in range(column.size):
            red, green, blue = np.int32(0), np.int32(0), np.int32(0)
            for i in range(column[x], column[x] + columns[x]):
                at = np.uint64(3 * i)  # unsigned: no negative index to look for
                red += np.int32(source[at])
                green += np.int32(source[at + ONE])
                blue += np.int32(source[at + TWO])
            at = np.uint64(3 * x)
            target[at] = np.uint8((half + column_weight[x] * red) >> BITS)
            target[at + ONE] = np.uint8((half + column_weight[x] * green) >> BITS)
            target[at + TWO] = np.uint8((half + column_weight[x] * blue) >> BITS)
    out = np.empty((row.size, column.size, 3), np.uint8)
    total = np.empty(column.size * 3, np.int32)
    for y in range(row.size):
        total[:] = 0
        for i in range(row[y], row[y] + rows[y]):
            source = narrow[i]
            for x in range(total.size):
                total[x] += np.int32(source[x])
        target = out[y].reshape(-1)
        for x in range(total.size):
            target[x] = np.uint8((half + row_weight[y] * total[x]) >> BITS)
    return out
