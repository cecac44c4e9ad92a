"""Correlation with a small kernel that is symmetric in both axes, such as a softened disc.

Such a kernel is a sum of layers, each a weight times whole numbers. A layer is a sum of bands, centred
rectangles: of a disc, about two for each step of its edge in a quadrant. Sums over a layer move from row to
row: a band gains a row at its bottom and loses one at its top, and part of a row is the difference of two
running sums. All that is whole numbers in 16 bits: running sums may wrap round, but what a layer gains and
loses may not, so a kernel has less than 128 rows and columns. Softening a disc would make many layers of
it, so sums over the plain disc are softened, in float32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.kernels.jit import jit
from windtunnel.kernels.lines import lines
from windtunnel.kernels.mirror import mirror_101

ONE, TWO = np.uint64(1), np.uint64(2)
# Upper bound of the relative error of a sum over a uniform area: sum and weight are rounded once each.
FLOAT32_MISS = 2.0**-23
# A weight that cannot move any sum of bytes by a thousandth of a level, or is not even a normal number.
NEGLIGIBLE = 1e-9

# Weights and whole numbers on a grid.
Weighted = list[tuple[float, NDArray[np.int64]]]
# A weight for each layer; and bands: layer, half height, half width (0 is one pixel), how many times.
Layers = tuple[NDArray[np.float32], NDArray[np.int64]]


@dataclass(frozen=True)
class LayeredKernel:
    """A kernel as layers whose runs of equal numbers are few, and what softens them.

    Attributes:
        plain: the kernel before softening.
        down: to be added after softening down, because the kernel's grid has edges; softened across only.
        across: likewise after softening across; softened down only.
        reach: the largest half width or half height of a band.
        taps: of the softening, at 1, 2 ... to either side; the middle loses what they take.
    """

    plain: Layers
    down: Layers
    across: Layers
    reach: int
    taps: NDArray[np.float32]


def layered_kernel(
    kernel: NDArray[np.float32],
    plain: NDArray[np.bool_] | None = None,
    taps: NDArray[np.float32] | None = None,
) -> LayeredKernel:
    """Split a kernel into layers: one for each of its values, or those of a plain shape that was softened.

    Softening is what OpenCV does: the kernel's grid is mirrored at the middle of its outermost cells.
    Nothing may lie so near a corner of the grid as to be mirrored both ways.
    """
    if plain is None or taps is None:
        side = np.empty(0, np.float32)
        values = np.unique(kernel[abs(kernel) > NEGLIGIBLE])
        inside = [(float(value), (kernel == value).astype(np.int64)) for value in values]
    else:
        side = taps[1:][taps[1:] > NEGLIGIBLE]
        inside = [(1.0, plain.astype(np.int64))]
    edges = [
        (weight * float(tap), _edge_effect(layer, step))
        for step, tap in enumerate(side, 1)
        for weight, layer in inside
    ]
    scale = _scale(float(kernel.sum(dtype=np.float64)), inside, edges)
    parts = (
        _layers([(scale * weight, layer) for weight, layer in inside]),
        _layers([(scale * weight, layer) for weight, layer in edges]),
        _layers([(scale * weight, layer.T) for weight, layer in edges]),
    )
    reach = max(int(bands[:, 1:3].max(initial=0)) for _, bands in parts)
    return LayeredKernel(*parts, reach, side)


def _scale(total: float, inside: Weighted, edges: Weighted) -> float:
    """The factor that scales the layers to the sum of their kernel.

    If that sum differs from one only in its last digits, truncation to bytes changes every uniform area by a
    level. The reference has this effect, and float32 rounding must not remove it.
    """
    layer_sum = sum(weight * int(layer.sum()) for weight, layer in inside)
    layer_sum += 2 * sum(weight * int(layer.sum()) for weight, layer in edges)
    nudge = math.copysign(FLOAT32_MISS, total - 1) if 0 < abs(total - 1) < FLOAT32_MISS else 0
    return total / layer_sum * (1 + nudge)


def _layers(weighted: Weighted) -> Layers:
    """The bands of the layers that are not empty: differences down and across a quadrant."""
    bands = [np.empty((0, 4), np.int64)]
    filled = [(weight, layer) for weight, layer in weighted if layer.any()]
    for number, (_, layer) in enumerate(filled):
        height, width = layer.shape
        quadrant = np.pad(layer[height // 2 :, width // 2 :], (0, 1))
        times = np.diff(np.diff(quadrant, axis=0), axis=1)
        places = np.argwhere(times)
        bands.append(np.column_stack([np.full(len(places), number), places, times[times != 0]]))
        if len(places) % 2:  # they are taken in pairs
            bands.append(np.array([[number, 0, 0, 0]]))
    return np.array([weight for weight, _ in filled], np.float32), np.concatenate(bands)


def _edge_effect(grid: NDArray[np.int64], step: int) -> NDArray[np.int64]:
    """The effect of mirroring if a grid is added to itself, shifted by `step` rows up and down.

    The result has `step` more rows and columns at all sides, for content beyond the edge.
    """
    padded = np.pad(grid, step)
    top = np.zeros_like(padded)
    for row in range(step):
        top[step + row] += padded[2 * step - row]
        top[row] -= padded[step + row]
    return top + top[::-1]


def correlate(image: Image, kernel: LayeredKernel) -> Image:
    """Correlate each channel with a kernel (border REFLECT_101), clip to 0..255, truncate to bytes."""
    return _correlate(image, kernel.plain, kernel.down, kernel.across, kernel.reach, kernel.taps)


@jit
def _correlate(
    image: Image, plain: Layers, down: Layers, across: Layers, reach: int, taps: NDArray[np.float32]
) -> Image:
    """Only the rows within reach are stored, so that they stay in the cache."""
    height, width = image.shape[:2]
    spread = taps.size
    soft = 2 * spread + 1
    line, wide = width * 3, (width + 2 * spread) * 3
    columns = _mirrored_columns(width, reach + spread)
    running = np.zeros((2 * (reach + spread + 1), (columns.size + 1) * 3), np.int16)
    touches = down[0].size > 0
    change = np.empty(wide, np.int16)
    plain_sums = np.zeros((plain[0].size, wide), np.int32)
    down_sums = np.zeros((down[0].size, wide), np.int32)
    across_sums = np.zeros((across[0].size, wide), np.int32)
    plain_rows = np.empty((soft, wide), np.float32)
    across_rows = np.empty((soft, wide), np.float32)
    softened = np.empty(wide, np.float32)
    total = np.empty(line, np.float32)
    out = np.empty((height, width, 3), np.uint8)
    sources, targets = lines(image), lines(out)
    # Sums start from zero, so high above the image that no band touches its mirrored border.
    for y in range(-spread - 2 * reach - 1, height + spread):
        entering = y + reach
        if entering >= -spread - reach:
            source = sources[mirror_101(entering, height)]
            _sum_along(source, columns, running[entering % running.shape[0]])
        centre = y - spread
        _sum_layers(running, y, plain, reach, change, plain_sums, plain_rows[y % soft])
        if touches:
            _sum_layers(running, y, across, reach, change, across_sums, across_rows[y % soft])
            _sum_layers(running, centre, down, reach, change, down_sums, softened)
        if centre >= 0:
            if not touches:
                softened[:] = 0
            _soften_down(plain_rows, centre, 0, taps, softened)
            _soften_across(softened, taps, total)
            if touches:
                _soften_down(across_rows, centre, spread * 3, taps, total)
            target = targets[centre]
            for x in range(line):
                target[x] = np.uint8(np.int32(min(total[x], np.float32(255))))
    return out


@jit
def _mirrored_columns(width: int, border: int) -> NDArray[np.int64]:
    """Source columns of an image with a mirrored border."""
    columns = np.empty(width + 2 * border, np.int64)
    for x in range(columns.size):
        columns[x] = mirror_101(x - border, width)
    return columns


@jit
def _sum_along(source: NDArray[np.uint8], columns: NDArray[np.int64], sums: NDArray[np.int16]) -> None:
    """Sum a row's columns from the left; the first sum is of none."""
    red, green, blue = np.int16(0), np.int16(0), np.int16(0)
    for x in range(columns.size):
        at, to = np.uint64(columns[x] * 3), np.uint64(x * 3 + 3)  # unsigned: no negative index to look for
        red = np.int16(red + source[at])
        green = np.int16(green + source[at + ONE])
        blue = np.int16(blue + source[at + TWO])
        sums[to], sums[to + ONE], sums[to + TWO] = red, green, blue


@jit
def _sum_layers(
    running: NDArray[np.int16],
    y: int,
    layers: Layers,
    reach: int,
    change: NDArray[np.int16],
    sums: NDArray[np.int32],
    total: NDArray[np.float32],
) -> None:
    """Move each layer's sums around the pixels of one row down to row y, and weight them."""
    weights, bands = layers
    flat = running.reshape(-1)
    row_count, line = running.shape
    total[:] = 0
    k = 0
    for layer in range(weights.size):
        change[:] = 0
        while k < len(bands) and bands[k, 0] == layer:
            first, second = np.int16(bands[k, 3]), np.int16(bands[k + 1, 3])
            a, b, c, d = _corners(y, bands[k], reach, row_count, line)
            e, f, g, h = _corners(y, bands[k + 1], reach, row_count, line)
            for x in range(change.size):  # two bands at a time: half as many trips through memory
                i = np.uint64(x)
                first_change = _change(flat[a + i], flat[b + i], flat[c + i], flat[d + i], first)
                second_change = _change(flat[e + i], flat[f + i], flat[g + i], flat[h + i], second)
                change[x] = np.int16(change[x] + np.int16(first_change + second_change))
            k += 2
        moved, weight = sums[layer], weights[layer]
        for x in range(total.size):
            moved[x] += change[x]
            total[x] += weight * np.float32(moved[x])


@jit
def _corners(
    y: int, band: NDArray[np.int64], reach: int, row_count: int, line: int
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """The positions of the running sums for the row that a band gains at its bottom and the one it loses."""
    gained, lost = (y + band[1]) % row_count * line, (y - band[1] - 1) % row_count * line
    left, right = (reach - band[2]) * 3, (reach + band[2] + 1) * 3
    return (
        np.uint64(gained + right),
        np.uint64(gained + left),
        np.uint64(lost + right),
        np.uint64(lost + left),
    )


@jit
def _change(
    right: np.int16, left: np.int16, lost_right: np.int16, lost_left: np.int16, times: np.int16
) -> np.int16:
    """The change of a band's sum; truncated to 16 bits at every step, because the compiler would use 64."""
    gained, lost = np.int16(right - left), np.int16(lost_right - lost_left)
    return np.int16(times * np.int16(gained - lost))


@jit
def _soften_down(
    rows: NDArray[np.float32], y: int, start: int, taps: NDArray[np.float32], total: NDArray[np.float32]
) -> None:
    """Add row y of the rows softened down, from a start on. Uniform areas are exact, without rounding."""
    row_count = rows.shape[0]
    centre = rows[y % row_count][start:]
    for x in range(total.size):
        total[x] += centre[x]
    for k in range(taps.size):
        above, below, tap = (
            rows[(y - k - 1) % row_count][start:],
            rows[(y + k + 1) % row_count][start:],
            taps[k],
        )
        for x in range(total.size):
            total[x] += tap * ((above[x] - centre[x]) + (below[x] - centre[x]))


@jit
def _soften_across(row: NDArray[np.float32], taps: NDArray[np.float32], total: NDArray[np.float32]) -> None:
    """Soften a row across; it is longer than the result by the softening's spread at both ends."""
    spread = taps.size
    centre = row[3 * spread :]
    for x in range(total.size):
        total[x] = centre[x]
    for k in range(spread):
        left, right, tap = row[3 * (spread - k - 1) :], row[3 * (spread + k + 1) :], taps[k]
        for x in range(total.size):
            total[x] += tap * ((left[x] - centre[x]) + (right[x] - centre[x]))
