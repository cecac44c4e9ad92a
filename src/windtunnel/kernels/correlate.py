"""Correlation with a small kernel that is symmetric in both axes, such as a softened disc.

Such a kernel is a sum of layers, each a weight times whole numbers. A column of a layer is a sum of bars,
centred runs of rows: of a disc, one bar each. The sum of the pixels below a bar is the difference of two
running sums down the image. All that is whole numbers in 16 bits. Sums may wrap round as long as their
results fit: layers of more than 128 pixels are added up in parts, so a kernel has less than 32 rows.
Softening a disc would make many layers of it, so sums over the plain disc are softened, in float32.
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

# Upper bound of the relative error of a sum over a uniform area: sum and weight are rounded once each.
FLOAT32_MISS = 2.0**-23
# A weight that cannot move any sum of bytes by a thousandth of a level, or is not even a normal number.
NEGLIGIBLE = 1e-9

# Weights and whole numbers on a grid.
Weighted = list[tuple[float, NDArray[np.int64]]]
# A weight for each layer; the bars, as their half height (0 is one pixel) and that of the gap in their middle
# (-1 is none); and their places, two in a row: layer, whether a part ends here, and for each of both the
# number of the bar, how far it is from the middle, on either side, and how many times it counts.
Layers = tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]
# Rows that are summed in one call: a call takes as long as some of its loops.
BATCH = 16
# Pixels whose sum is sure to fit 16 bits.
PART = 128


@dataclass(frozen=True)
class LayeredKernel:
    """A kernel as layers whose runs of equal numbers are few, and what softens them.

    Attributes:
        plain: the kernel before softening.
        down: to be added after softening down, because the kernel's grid has edges; softened across only.
        across: likewise after softening across; softened down only.
        reach: the largest half height of a bar, or distance from the middle.
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
    reach = max(int(max(bars.max(initial=0), places[:, [3, 6]].max(initial=0))) for _, bars, places in parts)
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
    """The bars of the layers that are not empty."""
    filled = [(weight, layer) for weight, layer in weighted if layer.any()]
    bars_of_layers = [_bars(layer) for _, layer in filled]
    bars = sorted({bar for layer_bars in bars_of_layers for bar, _, _ in layer_bars})
    places: list[list[int]] = []
    for number, layer_bars in enumerate(bars_of_layers):
        numbered = [(bars.index(bar), away, times) for bar, away, times in layer_bars]
        numbered += [(0, 0, 0)] * (len(layer_bars) % 2)
        fits = int(abs(filled[number][1]).sum()) <= PART
        pixels = 0
        for first, second in zip(numbered[::2], numbered[1::2], strict=True):
            more = sum(2 * (2 * bars[bar][0] + 1) * abs(times) for bar, _, times in (first, second))
            if pixels + more > PART and pixels and not fits:
                places[-1][1], pixels = 1, 0
            places.append([number, 0, *first, *second])
            pixels += more
        places[-1][1] = 1
    weights = np.array([weight for weight, _ in filled], np.float32)
    return weights, np.array(bars, np.int64).reshape(-1, 2), np.array(places, np.int64).reshape(-1, 8)


def _bars(layer: NDArray[np.int64]) -> list[tuple[tuple[int, int], int, int]]:
    """Bar, distance from the middle, times: of full bars or of pairs of pixels, whichever are fewer."""
    height, width = layer.shape
    quadrant = layer[height // 2 :, width // 2 :]
    full = -np.diff(np.pad(quadrant, ((0, 1), (0, 0))), axis=0)
    in_pairs = np.count_nonzero(quadrant) < np.count_nonzero(full)
    times = quadrant if in_pairs else full
    return [
        ((int(half), int(half) - 1 if in_pairs else -1), int(away), int(times[half, away]))
        for half, away in np.argwhere(times)
    ]


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
    row_count = BATCH + 2 * spread
    line, wide, border = width * 3, (width + 2 * spread) * 3, (reach + spread) * 3
    columns = _mirrored_columns(width, reach + spread)
    running = np.zeros((BATCH + 2 * reach + spread + 1, columns.size), np.int16)
    touches = down[0].size > 0
    most = max(len(plain[1]), len(down[1]), len(across[1]))
    bars = np.zeros((most + 1, columns.size), np.int16)  # the last stays 0
    part, sums = np.empty(wide, np.int16), np.empty(wide, np.int32)
    plain_rows, across_rows = np.zeros((row_count, wide), np.float32), np.zeros((row_count, wide), np.float32)
    down_rows, softened = np.zeros((row_count, wide), np.float32), np.empty(wide, np.float32)
    total = np.empty(line, np.float32)
    out = np.empty((height, width, 3), np.uint8)
    sources, targets = lines(image), lines(out)
    entered = -spread - reach
    for top in range(-spread, height + spread, BATCH):
        bottom = min(top + BATCH, height + spread)
        while entered < bottom + reach:
            _run_down(sources[mirror_101(entered, height)], columns, border, running, entered)
            entered += 1
        _sum_layers(running, top, bottom, plain, reach, bars, part, sums, plain_rows)
        if touches:
            _sum_layers(running, top, bottom, across, reach, bars, part, sums, across_rows)
            _sum_layers(running, top - spread, bottom - spread, down, reach, bars, part, sums, down_rows)
        for y in range(max(top - spread, 0), bottom - spread):
            for x in range(wide):
                softened[x] = down_rows[y % row_count, x]
            _soften_down(plain_rows, y, 0, taps, softened)
            _soften_across(softened, taps, total)
            if touches:
                _soften_down(across_rows, y, spread * 3, taps, total)
            target = targets[y]
            for x in range(line):
                target[x] = np.uint8(np.int32(min(total[x], np.float32(255))))
    return out


@jit
def _mirrored_columns(width: int, border: int) -> NDArray[np.uint64]:
    """Where the numbers of a row with a mirrored border are in it."""
    columns = np.empty((width + 2 * border) * 3, np.uint64)  # unsigned: no negative index to look for
    for x in range(columns.size):
        columns[x] = (border + mirror_101(x // 3 - border, width)) * 3 + x % 3
    return columns


@jit
def _run_down(
    source: NDArray[np.uint8], columns: NDArray[np.uint64], border: int, running: NDArray[np.int16], y: int
) -> None:
    """Add row y to the sums of all rows above it, and mirror the result."""
    row_count = running.shape[0]
    above, here = running[(y - 1) % row_count], running[y % row_count]
    before, now = above[border : border + source.size], here[border : border + source.size]
    for x in range(source.size):
        now[x] = np.int16(before[x] + np.int16(source[x]))
    for x in range(border):
        left, right = np.uint64(x), np.uint64(border + source.size + x)
        here[left], here[right] = here[columns[left]], here[columns[right]]


@jit
def _sum_layers(
    running: NDArray[np.int16],
    top: int,
    bottom: int,
    layers: Layers,
    reach: int,
    bars: NDArray[np.int16],
    part: NDArray[np.int16],
    sums: NDArray[np.int32],
    totals: NDArray[np.float32],
) -> None:
    """The weighted sums of layers around the pixels of some rows."""
    weights, of_layers, places = layers
    flat = bars.reshape(-1)
    for y in range(top, bottom):
        total = totals[y % totals.shape[0]]
        for k in range(len(of_layers)):
            _sum_bar(running, y, of_layers[k, 0], of_layers[k, 1], bars[k])
        part_begins, layer_begins = True, True
        for k in range(len(places)):
            a, b = _sides(places[k, 2], places[k, 3], reach, bars)
            c, d = _sides(places[k, 5], places[k, 6], reach, bars)
            first, second, keep = np.int16(places[k, 4]), np.int16(places[k, 7]), np.int16(not part_begins)
            for x in range(part.size):  # truncated to 16 bits at every step: the compiler would use 64
                i = np.uint64(x)
                first_bar = np.int16(first * np.int16(flat[a + i] + flat[b + i]))
                second_bar = np.int16(second * np.int16(flat[c + i] + flat[d + i]))
                part[x] = np.int16(np.int16(keep * part[x]) + np.int16(first_bar + second_bar))
            part_begins = bool(places[k, 1])
            if part_begins:
                for x in range(part.size):
                    sums[x] = np.int32(part[x]) if layer_begins else np.int32(sums[x] + np.int32(part[x]))
                layer = places[k, 0]
                layer_begins = k + 1 == len(places) or places[k + 1, 0] != layer
                if layer_begins:
                    weight, before = weights[layer], np.float32(layer > 0)
                    for x in range(part.size):
                        total[x] = before * total[x] + weight * np.float32(sums[x])


@jit
def _sum_bar(running: NDArray[np.int16], y: int, outer: int, inner: int, bar: NDArray[np.int16]) -> None:
    """The sums of one bar in row y."""
    row_count = running.shape[0]
    below, above = running[(y + outer) % row_count], running[(y - outer - 1) % row_count]
    for x in range(bar.size):
        bar[x] = np.int16(below[x] - above[x])
    if inner >= 0:
        below, above = running[(y + inner) % row_count], running[(y - inner - 1) % row_count]
        for x in range(bar.size):
            bar[x] = np.int16(bar[x] - np.int16(below[x] - above[x]))


@jit
def _sides(number: int, away: int, reach: int, bars: NDArray[np.int16]) -> tuple[np.uint64, np.uint64]:
    """Where the two bars at a distance from the middle begin; there is one bar in the middle, and nothing."""
    count, line = bars.shape
    left, right = number * line + (reach - away) * 3, number * line + (reach + away) * 3
    return np.uint64(left), np.uint64(right if away else (count - 1) * line)


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
