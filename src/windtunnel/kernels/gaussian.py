"""Gaussian smoothing as SciPy defines it: sampled weights, cut at `truncate` standard deviations.

All sums are float64 and taken in SciPy's order: in even areas the last bit decides whether truncation to
bytes takes a whole level away, and the reference's pictures have that.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from windtunnel.imaging import Image
from windtunnel.kernels.jit import jit

# Where the reference's libraries cut a blur.
BLUR_TRUNCATE = 4.0


@lru_cache(maxsize=128)
def weights(sigma: float, truncate: float = BLUR_TRUNCATE) -> NDArray[np.float64]:
    """The weights at 0, 1, 2 ... of a Gaussian that sums to one over both sides."""
    radius = int(truncate * sigma + 0.5)
    if radius == 0:
        return np.ones(1)
    # math.exp, not np.exp: the latter's last bit depends on the processor.
    full = np.array([math.exp(-0.5 / (sigma * sigma) * i * i) for i in range(-radius, radius + 1)])
    return np.ascontiguousarray((full / full.sum())[radius:])


def blur_bytes(image: Image, sigma: float) -> Image:
    """Blur every channel (border replicated), truncated back to bytes."""
    side = weights(sigma)
    return image.copy() if len(side) == 1 else _blur_bytes(image, side, np.arange(256) / 255.0)


def smooth_replicated(field: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    """Smooth a field, its border replicated."""
    side = weights(sigma)
    return field if len(side) == 1 else _smooth(field, side)


@jit
def _blur_bytes(image: Image, side: NDArray[np.float64], unit: NDArray[np.float64]) -> Image:
    """Only the rows within reach are kept as numbers: whole pictures of them would not fit the cache."""
    height, width = image.shape[:2]
    line = width * 3
    radius = side.size - 1
    kept = 2 * radius + 1
    rows = np.empty((kept, line), np.float64)
    padded = np.empty(line + 6 * radius, np.float64)
    total = np.empty(line, np.float64)
    out = np.empty((height, width, 3), np.uint8)
    for y in range(-radius, height):
        entering = y + radius
        if entering < height:
            source, scaled = image[entering].reshape(-1), rows[entering % kept]
            for x in range(line):
                scaled[x] = unit[source[x]]
        if y >= 0:
            _smooth_row(rows, y, height, kept, side, 3, padded, total)
            target = out[y].reshape(-1)
            for x in range(line):
                target[x] = np.uint8(np.int32(min(total[x], 1.0) * 255.0))
    return out


@jit
def _smooth(values: NDArray[np.float64], side: NDArray[np.float64]) -> NDArray[np.float64]:
    height, line = values.shape
    out = np.empty((height, line), np.float64)
    padded = np.empty(line + 2 * (side.size - 1), np.float64)
    for y in range(height):
        _smooth_row(values, y, height, height, side, 1, padded, out[y])
    return out


@jit
def _smooth_row(
    rows: NDArray[np.float64],
    y: int,
    height: int,
    kept: int,
    side: NDArray[np.float64],
    channels: int,
    padded: NDArray[np.float64],
    total: NDArray[np.float64],
) -> None:
    """One row, down and then across: the centre first, then pairs from the farthest to the nearest.

    Row n of the picture lies at n % kept. Two pairs are taken at a time: half as many trips through
    memory, and the same order of sums.
    """
    radius = side.size - 1
    line = total.size
    middle = padded[channels * radius : channels * radius + line]
    centre = rows[y % kept]
    for x in range(line):
        middle[x] = side[0] * centre[x]
    k = radius
    while k >= 2:
        a, b = rows[max(y - k, 0) % kept], rows[min(y + k, height - 1) % kept]
        c, d = rows[max(y - k + 1, 0) % kept], rows[min(y + k - 1, height - 1) % kept]
        outer, inner = side[k], side[k - 1]
        for x in range(line):
            middle[x] = middle[x] + (a[x] + b[x]) * outer + (c[x] + d[x]) * inner
        k -= 2
    if k == 1:
        a, b = rows[max(y - 1, 0) % kept], rows[min(y + 1, height - 1) % kept]
        for x in range(line):
            middle[x] += (a[x] + b[x]) * side[1]
    for k in range(radius):
        for channel in range(channels):
            padded[channels * k + channel] = middle[channel]
            padded[channels * (radius + k) + line + channel] = middle[line - channels + channel]
    for x in range(line):
        total[x] = side[0] * middle[x]
    k = radius
    while k >= 2:
        begin, end = channels * (radius - k), channels * (radius + k)
        a, b = padded[begin : begin + line], padded[end : end + line]
        c, d = (
            padded[begin + channels : begin + channels + line],
            padded[end - channels : end - channels + line],
        )
        outer, inner = side[k], side[k - 1]
        for x in range(line):
            total[x] = total[x] + (a[x] + b[x]) * outer + (c[x] + d[x]) * inner
        k -= 2
    if k == 1:
        begin, end = channels * (radius - 1), channels * (radius + 1)
        a, b = padded[begin : begin + line], padded[end : end + line]
        for x in range(line):
            total[x] += (a[x] + b[x]) * side[1]
