"""Zoom into the centre as SciPy's linear `zoom` does, with aligned corners."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ZoomAxis:
    """One axis of a zoom: which part of the source is used, and between which samples each pixel lies."""

    start: int
    length: int
    index: NDArray[np.int64]
    fraction: NDArray[np.float64]


@lru_cache(maxsize=256)
def zoom_axis(size: int, factor: float) -> ZoomAxis:
    """The middle ceil(size/factor) samples stretched to round(that*factor), trimmed back to `size`."""
    length = math.ceil(size / factor)
    stretched = round(length * factor)
    trim = (stretched - size) // 2
    step = (length - 1) / (stretched - 1)
    position = (np.arange(size) + trim) * step
    index = np.minimum(position.astype(np.int64), max(length - 2, 0))
    return ZoomAxis((size - length) // 2, length, index, np.asarray(position - index, np.float64))
