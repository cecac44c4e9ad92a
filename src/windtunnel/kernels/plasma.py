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
def _draw_shifts(key: np.uint64, first: int, amount: float, shifts: NDArray[np.float64]) -> None:
    """The shifts of a row's points: draws from `first` on."""
    for i in range(shifts.size):
        unit = np.float64(np.int64(word(key, np.uint64(first + i)) >> _S11)) * _TO_UNIT
        shifts[i] = amount * (-amount + 2.0 * amount * unit)


@jit
def _range(land: NDArray[np.float64]) -> tuple[float, float]:
    """The lowest and the highest value: column by column first, which the compiler vectorises."""
    low, high = land[0].copy(), land[0].copy()
    for y in range(1, land.shape[0]):
        row = land[y]
        for x in range(row.size):
            low[x] = row[x] if row[x] < low[x] else low[x]
            high[x] = row[x] if row[x] > high[x] else high[x]
    return low.min(), high.max()


@jit
def _plasma(size: int, decay: float, key: np.uint64) -> tuple[NDArray[np.float64], float, float]:
    land = np.empty((size, size), np.float64)
    land[0, 0] = 0.0  # every other point is set before it is looked at
    wrap = size - 1  # size is a power of two: this wraps indices around
    step = size
    amount = START
    drawn = 0
    drawn_of_row = np.empty(size // 2, np.float64)
    while step >= 2:
        half = step // 2
        shifts = drawn_of_row[: size // step]
        for top in range(0, size, step):
            upper, lower, centre = land[top], land[(top + step) & wrap], land[top + half]
            _draw_shifts(key, drawn, amount, shifts)
            drawn += shifts.size
            for i in range(shifts.size):
                left = i * step
                right = (left + step) & wrap
                mean = (upper[left] + lower[left] + lower[right] + upper[right]) / 4.0
                centre[left + half] = mean + shifts[i]
        for top in range(0, size, step):
            row, above, below = land[top], land[(top - half) & wrap], land[top + half]
            _draw_shifts(key, drawn, amount, shifts)
            drawn += shifts.size
            for i in range(shifts.size):
                left = i * step
                middle = left + half
                mean = (row[left] + row[(left + step) & wrap] + above[middle] + below[middle]) / 4.0
                row[middle] = mean + shifts[i]
        for top in range(0, size, step):
            row, above, below = land[top + half], land[top], land[(top + step) & wrap]
            _draw_shifts(key, drawn, amount, shifts)
            drawn += shifts.size
            for i in range(shifts.size):
                left = i * step
                mean = (above[left] + below[left] + row[(left - half) & wrap] + row[left + half]) / 4.0
                row[left] = mean + shifts[i]
        step = half
        amount /= decay
    lowest, highest = _range(land)
    return land, lowest, highest - lowest
