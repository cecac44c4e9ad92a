"""Plasma: diamond-square on a torus."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.kernels.draws import word
from windtunnel.kernels.jit import jit

# The first step moves points by up to this, squared: the reference multiplies by it twice.
START = 100.0

_S11 = np.uint64(11)
_TO_UNIT = 2.0**-53


def plasma(size: int, decay: float, key: int) -> tuple[NDArray[np.float64], float, float]:
    """A size x size map, size a power of two, with its lowest value and its height: (map - low) / height.

    Every octave is decay^2 weaker than the one before. Draw i of the stream is the i-th uniform number of
    the reference's order: per octave the centres, then the points between along rows, then those along
    columns.
    """
    return _plasma(size, decay, np.uint64(key))


@jit
def _shift(key: np.uint64, index: int, amount: float) -> float:
    unit = np.float64(word(key, np.uint64(index)) >> _S11) * _TO_UNIT
    return amount * (-amount + 2.0 * amount * unit)


@jit
def _plasma(size: int, decay: float, key: np.uint64) -> tuple[NDArray[np.float64], float, float]:
    land = np.empty((size, size), np.float64)
    land[0, 0] = 0.0  # every other point is set before it is looked at
    wrap = size - 1  # size is a power of two: this wraps indices around
    step = size
    amount = START
    drawn = 0
    lowest = highest = 0.0
    while step >= 2:
        half = step // 2
        for top in range(0, size, step):
            upper, lower, centre = land[top], land[(top + step) & wrap], land[top + half]
            for left in range(0, size, step):
                right = (left + step) & wrap
                mean = (upper[left] + lower[left] + lower[right] + upper[right]) / 4.0
                value = mean + _shift(key, drawn, amount)
                centre[left + half] = value
                lowest, highest = min(lowest, value), max(highest, value)
                drawn += 1
        for top in range(0, size, step):
            row, above, below = land[top], land[(top - half) & wrap], land[top + half]
            for left in range(0, size, step):
                middle = left + half
                mean = (row[left] + row[(left + step) & wrap] + above[middle] + below[middle]) / 4.0
                value = mean + _shift(key, drawn, amount)
                row[middle] = value
                lowest, highest = min(lowest, value), max(highest, value)
                drawn += 1
        for top in range(0, size, step):
            row, above, below = land[top + half], land[top], land[(top + step) & wrap]
            for left in range(0, size, step):
                mean = (above[left] + below[left] + row[(left - half) & wrap] + row[left + half]) / 4.0
                value = mean + _shift(key, drawn, amount)
                row[left] = value
                lowest, highest = min(lowest, value), max(highest, value)
                drawn += 1
        step = half
        amount /= decay
    return land, lowest, highest - lowest
