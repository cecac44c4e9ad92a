"""Plasma: diamond-square on a torus.

An octave is four grids of equal size: its corners, the centres between four corners, and the points between
two corners of a row or of a column. They are kept apart, so that the compiler vectorises every loop, and
woven together into the corners of the next octave. A grid has one more row and column: a repeated first one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.kernels.draws import word
from windtunnel.kernels.jit import jit
from windtunnel.kernels.scratch import scratch

# The first step moves points by up to this, squared: the reference multiplies by it twice.
START = 100.0

_S11 = np.uint64(11)
_ONE = np.uint64(1)
_TO_UNIT = 2.0**-53


def plasma(size: int, decay: float, key: int) -> tuple[NDArray[np.float64], float, float]:
    """A map, with its lowest value and its height: (map - low) / height is from 0 to 1.

    The map has size x size points, size a power of two, in four grids of half the size: its corners, points
    of rows, points of columns, centres. It is valid until the next call in the same thread. Every octave is
    decay^2 weaker than the one before. Draw i of the stream is the i-th uniform number of the reference's
    order: per octave the centres, then the points of rows, then those of columns.
    """
    side = size // 2 + 1
    grids = scratch("plasma", (4, side, side), np.float64)
    lowest, height = _plasma(size, decay, np.uint64(key), grids)
    return grids, lowest, height


@jit
def weave(even: NDArray[np.float64], odd: NDArray[np.float64], row: NDArray[np.float64]) -> None:
    """A row of points from those at its even and those at its odd places."""
    for i in range(row.size // 2):
        at = np.uint64(2 * i)  # unsigned: no negative index to look for
        row[at] = even[i]
        row[at + _ONE] = odd[i]


@jit
def _draw_shifts(key: np.uint64, first: int, amount: float, shifts: NDArray[np.float64]) -> None:
    """The shifts of a row's points: draws from `first` on."""
    for i in range(shifts.size):
        unit = np.float64(np.int64(word(key, np.uint64(first + i)) >> _S11)) * _TO_UNIT
        shifts[i] = amount * (-amount + 2.0 * amount * unit)


@jit
def _plasma(size: int, decay: float, key: np.uint64, grids: NDArray[np.float64]) -> tuple[float, float]:
    corners, between_columns, between_rows, centres = grids[0], grids[1], grids[2], grids[3]
    corners[0, 0] = 0.0
    shifts = np.empty(size // 2, np.float64)
    count, amount, drawn = 1, START, 0
    while True:
        for y in range(count):
            corners[y, count] = corners[y, 0]
        for x in range(count + 1):
            corners[count, x] = corners[0, x]
        drawn = _add_octave(count, amount, key, drawn, grids, shifts[:count])
        if 2 * count == size:
            break
        first = corners[0].copy()
        for y in range(count - 1, -1, -1):  # from the last row on: only the first would overwrite itself
            weave(between_rows[y], centres[y], corners[2 * y + 1][: 2 * count])
            weave(corners[y] if y else first, between_columns[y], corners[2 * y][: 2 * count])
        count *= 2
        amount /= decay
    return _range(grids, count)


@jit
def _add_octave(
    count: int,
    amount: float,
    key: np.uint64,
    drawn: int,
    grids: NDArray[np.float64],
    shifts: NDArray[np.float64],
) -> int:
    """Set the centres and the points between the corners; the number of draws so far."""
    corners, between_columns, between_rows, centres = grids[0], grids[1], grids[2], grids[3]
    for y in range(count):
        upper, lower, centre = corners[y], corners[y + 1], centres[y]
        _draw_shifts(key, drawn, amount, shifts)
        drawn += count
        for i in range(count):
            mean = (upper[i] + lower[i] + lower[i + 1] + upper[i + 1]) / 4.0
            centre[i] = mean + shifts[i]
    for y in range(count):
        row, above, below, point = corners[y], centres[(y - 1) % count], centres[y], between_columns[y]
        _draw_shifts(key, drawn, amount, shifts)
        drawn += count
        for i in range(count):
            mean = (row[i] + row[i + 1] + above[i] + below[i]) / 4.0
            point[i] = mean + shifts[i]
    for y in range(count):
        above, below, centre, point = corners[y], corners[y + 1], centres[y], between_rows[y]
        _draw_shifts(key, drawn, amount, shifts)
        drawn += count
        point[0] = (above[0] + below[0] + centre[count - 1] + centre[0]) / 4.0 + shifts[0]
        for i in range(1, count):
            mean = (above[i] + below[i] + centre[i - 1] + centre[i]) / 4.0
            point[i] = mean + shifts[i]
    return drawn


@jit
def _range(grids: NDArray[np.float64], count: int) -> tuple[float, float]:
    """The lowest value and the height: column by column first, which the compiler vectorises."""
    low, high = grids[0, 0, :count].copy(), grids[0, 0, :count].copy()
    for grid in range(4):
        for y in range(count):
            row = grids[grid, y]
            for x in range(count):
                low[x] = row[x] if row[x] < low[x] else low[x]
                high[x] = row[x] if row[x] > high[x] else high[x]
    return low.min(), high.max() - low.min()
