"""Cubic B-splines of an image's levels, mirrored at the edges."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from windtunnel.kernels.jit import jit


@jit
def spline_taps(place: float, size: int, taps: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
    """Fill in the four pixels around a place along an axis, and their weights."""
    first = math.floor(place) - 1
    t = place - math.floor(place)
    weights[0] = (1.0 - t) ** 3 / 6.0
    weights[1] = (3.0 * t**3 - 6.0 * t**2 + 4.0) / 6.0
    weights[2] = (3.0 * (1.0 - t) ** 3 - 6.0 * (1.0 - t) ** 2 + 4.0) / 6.0
    weights[3] = t**3 / 6.0
    for i in range(4):
        tap = abs(first + i)
        taps[i] = tap if tap < size else 2 * (size - 1) - tap
