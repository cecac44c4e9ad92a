"""Motion blur as ImageMagick draws it: a one-sided half-Gaussian trail of whole-pixel steps."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from windtunnel.kernels.jit import jit
from windtunnel.kernels.lines import lines

# ImageMagick sums in 16 bits: a byte times this.
QUANTUM = np.float32(257)
TO_BYTE = np.float32(1 / 257)
HALF = np.float32(0.5)

# float32, or float64 where sums must be exact.
Numbers = NDArray[np.float32] | NDArray[np.float64]
Taps = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


def trail(radius: float, sigma: float, angle_degrees: float) -> Taps:
    """Steps to the right, steps down, and weights of the trail; steps that coincide are joined."""
    count = 2 * math.ceil(radius) + 1
    strength = [math.exp(-(i * i) / (2 * sigma * sigma)) for i in range(count)]
    whole = sum(strength)
    across, down = math.cos(math.radians(angle_degrees)), math.sin(math.radians(angle_degrees))
    joined: dict[tuple[int, int], float] = {}
    for i in range(count):
        step = (math.ceil(i * across - 0.5), math.ceil(i * down - 0.5))
        joined[step] = joined.get(step, 0.0) + strength[i] / whole
    steps = np.array(list(joined), np.int64)
    return (
        np.ascontiguousarray(steps[:, 0]),
        np.ascontiguousarray(steps[:, 1]),
        np.array(list(joined.values()), np.float64),
    )


def blur_along(
    image: NDArray[np.uint8], radius: float, sigma: float, angle_degrees: float, *, exact: bool = False
) -> NDArray[np.uint8]:
    """Blur an image (HxWx3) or a layer (HxWx1) along a trail; the border is replicated.

    `exact` sums in float64: float32 rounds one pixel in thousands to the neighbouring level.
    """
    across, down, weight = trail(radius, sigma, angle_degrees)
    return _blur_along(image, across, down, weight if exact else weight.astype(np.float32))


@jit
def _fill_row(source: NDArray[np.uint8], channels: int, left: int, row: Numbers) -> None:
    """One line of the image as numbers, its first and last pixel repeated to either side."""
    line, end = source.size, source[source.size - channels :]
    middle = row[left * channels : left * channels + line]
    for x in range(line):
        middle[x] = np.int32(source[x])
    for start in range(0, left * channels, channels):
        for channel in range(channels):
            i = np.uint64(channel)  # unsigned: no negative index to look for
            row[np.uint64(start) + i] = np.int32(source[i])
    for start in range(left * channels + line, row.size, channels):
        for channel in range(channels):
            i = np.uint64(channel)
            row[np.uint64(start) + i] = np.int32(end[i])


@jit
def _begins(height: int, highest: int, rows: Numbers) -> NDArray[np.uint64]:
    """The place of each row from `highest` on; beyond the image's edge, of its first or last row."""
    row_count, length = rows.shape
    begins = np.empty(height + row_count, np.uint64)  # unsigned: no negative index to look for
    for row in range(begins.size):
        begins[row] = min(max(row + highest, 0), height - 1) % row_count * length
    return begins


@jit
def _blur_along(
    image: NDArray[np.uint8],
    across: NDArray[np.int64],
    down: NDArray[np.int64],
    weight: Numbers,
) -> NDArray[np.uint8]:
    """Only the rows within reach are kept as numbers, row n at n % row_count: they stay in the cache."""
    height, width, channels = image.shape
    left = max(-across.min(), 0)
    line = width * channels
    highest, lowest = down.min(), down.max()
    row_count = lowest - highest + 1
    rows = np.empty((row_count, (left + width + max(across.max(), 0)) * channels), weight.dtype)
    flat = rows.reshape(-1)
    start, shifts = np.empty(weight.size, np.uint64), np.empty(weight.size, np.uint64)
    for tap in range(weight.size):
        shifts[tap] = (left + across[tap]) * channels
    begins = _begins(height, highest, rows)
    out = np.empty((height, width, channels), np.uint8)
    total = np.empty(line, weight.dtype)
    sources, targets = lines(image), lines(out)
    entered = 0
    for y in range(height):
        while entered < height and entered <= y + max(lowest, 0):
            _fill_row(sources[entered], channels, left, rows[entered % row_count])
            entered += 1
        for tap in range(weight.size):
            start[tap] = begins[y + down[tap] - highest] + shifts[tap]
        for x in range(line):
            total[x] = 0
        tap = 0
        while tap + 7 < weight.size:  # eight taps at a time, in two groups: fewer trips through memory
            a, b, c, d = start[tap], start[tap + 1], start[tap + 2], start[tap + 3]
            e, f, g, h = start[tap + 4], start[tap + 5], start[tap + 6], start[tap + 7]
            w, v, u, t = weight[tap], weight[tap + 1], weight[tap + 2], weight[tap + 3]
            s, r, q, p = weight[tap + 4], weight[tap + 5], weight[tap + 6], weight[tap + 7]
            for x in range(line):
                i = np.uint64(x)
                first = w * flat[a + i] + v * flat[b + i] + u * flat[c + i] + t * flat[d + i]
                second = s * flat[e + i] + r * flat[f + i] + q * flat[g + i] + p * flat[h + i]
                total[x] = total[x] + first + second
            tap += 8
        while tap + 3 < weight.size:
            a, b, c, d = start[tap], start[tap + 1], start[tap + 2], start[tap + 3]
            w, v, u, t = weight[tap], weight[tap + 1], weight[tap + 2], weight[tap + 3]
            for x in range(line):
                i = np.uint64(x)
                total[x] += w * flat[a + i] + v * flat[b + i] + u * flat[c + i] + t * flat[d + i]
            tap += 4
        while tap < weight.size:
            a, w = start[tap], weight[tap]
            for x in range(line):
                total[x] += w * flat[a + np.uint64(x)]
            tap += 1
        target = targets[y]
        for x in range(line):
            quantum = np.int32(total[x] * QUANTUM + HALF)
            target[x] = np.uint8(np.int32(np.float32(quantum) * TO_BYTE + HALF))
    return out
