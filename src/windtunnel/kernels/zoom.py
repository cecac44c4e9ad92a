"""Zoom into the centre as SciPy's linear `zoom` does, with aligned corners."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windtunnel.kernels.jit import jit


@dataclass(frozen=True)
class ZoomAxis:
    """One axis of a zoom: which part of the source is used, and between which samples each pixel lies."""

    start: int
    length: int
    index: NDArray[np.int64]
    fraction: NDArray[np.float64]


def zoom_axis(size: int, factor: float) -> ZoomAxis:
    """The middle ceil(size/factor) samples stretched to round(that*factor), trimmed back to `size`."""
    length = math.ceil(size / factor)
    stretched = round(length * factor)
    trim = (stretched - size) // 2
    step = (length - 1) / (stretched - 1)
    position = (np.arange(size) + trim) * step
    index = np.minimum(position.astype(np.int64), max(length - 2, 0))
    return ZoomAxis((size - length) // 2, length, index, np.asarray(position - index, np.float64))


@jit
def zoom_layer(
    layer: NDArray[np.float64],
    row: NDArray[np.int64],
    row_fraction: NDArray[np.float64],
    column: NDArray[np.int64],
    column_fraction: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Bilinear interpolation of one layer on a grid given by its axes."""
    out = np.empty((row.size, column.size), np.float64)
    blended = np.empty(layer.shape[1], np.float64)
    below = layer.shape[0] - 1
    right = layer.shape[1] - 1
    for y in range(row.size):
        first = layer[row[y]]
        second = layer[min(row[y] + 1, below)]
        part = row_fraction[y]
        for x in range(blended.size):
            blended[x] = first[x] * (1.0 - part) + second[x] * part
        target = out[y]
        for x in range(column.size):
            at = column[x]
            part = column_fraction[x]
            target[x] = blended[at] * (1.0 - part) + blended[min(at + 1, right)] * part
    return out
