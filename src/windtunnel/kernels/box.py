"""Shrinking by box averages as Pillow does it: across, then down, each rounded to bytes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from windtunnel.imaging import Image
from windtunnel.kernels.jit import jit

# Pillow's weights are fixed-point numbers of this many bits.
BITS = 22

Axis = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def shrink(image: Image, width: int, height: int) -> Image:
    """Shrink a picture to width x height."""
    return _shrink(image, *_axis(image.shape[1], width), *_axis(image.shape[0], height))


@lru_cache(maxsize=64)
def _axis(large: int, small: int) -> Axis:
    """For every output sample the first source sample, how many, and their weights (rows of a table)."""
    scale = large / small
    centre = (np.arange(small) + 0.5) * scale
    first = np.maximum((centre - scale / 2 + 0.5).astype(np.int64), 0)
    count = np.minimum((centre + scale / 2 + 0.5).astype(np.int64), large) - first
    table = np.zeros((small, int(count.max())), np.int64)
    for i in range(small):
        place = (first[i] + np.arange(count[i]) - centre[i] + 0.5) / scale
        weight = ((place > -0.5) & (place <= 0.5)).astype(np.float64)
        table[i, : count[i]] = (0.5 + weight / weight.sum() * (1 << BITS)).astype(np.int64)
    return first, count, table


@jit
def _shrink(
    image: Image,
    column: NDArray[np.int64],
    columns: NDArray[np.int64],
    column_weight: NDArray[np.int64],
    row: NDArray[np.int64],
    rows: NDArray[np.int64],
    row_weight: NDArray[np.int64],
) -> Image:
    height = image.shape[0]
    half = np.int32(1 << (BITS - 1))
    narrow = np.empty((height, column.size * 3), np.uint8)
    for y in range(height):
        source, target = image[y].reshape(-1), narrow[y]
        for x in range(column.size):
            red = green = blue = half
            for i in range(columns[x]):
                weight = np.int32(column_weight[x, i])
                at = (column[x] + i) * 3
                red += weight * np.int32(source[at])
                green += weight * np.int32(source[at + 1])
                blue += weight * np.int32(source[at + 2])
            target[3 * x] = np.uint8(red >> BITS)
            target[3 * x + 1] = np.uint8(green >> BITS)
            target[3 * x + 2] = np.uint8(blue >> BITS)
    out = np.empty((row.size, column.size, 3), np.uint8)
    total = np.empty(column.size * 3, np.int32)
    for y in range(row.size):
        total[:] = half
        for i in range(rows[y]):
            source = narrow[row[y] + i]
            weight = np.int32(row_weight[y, i])
            for x in range(total.size):
                total[x] += weight * np.int32(source[x])
        target = out[y].reshape(-1)
        for x in range(total.size):
            target[x] = np.uint8(total[x] >> BITS)
    return out
