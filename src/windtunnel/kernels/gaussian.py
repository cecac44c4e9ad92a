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
    return field if len(side) == 1 else _smooth(field, side, 1)


@jit
def _blur_bytes(image: Image, side: NDArray[np.float64], unit: NDArray[np.float64]) -> Image:
    height, width = image.shape[:2]
    values = np.empty((height, width * 3), np.float64)
    for y in range(height):
        source, scaled = image[y].reshape(-1), values[y]
        for x in range(width * 3):
            scaled[x] = unit[source[x]]
    smooth = _smooth(values, side, 3)
    out = np.empty((height, width, 3), np.uint8)
    for y in range(height):
        source64, target = smooth[y], out[y].reshape(-1)
        for x in range(width * 3):
            target[x] = np.uint8(min(source64[x], 1.0) * 255.0)
    return out


@jit
def _smooth(values: NDArray[np.float64], side: NDArray[np.float64], channels: int) -> NDArray[np.float64]:
    """Down, then across: the centre first, then pairs from the farthest to the nearest, as SciPy sums."""
    height, line = values.shape
    radius = side.size - 1
    out = np.empty((height, line), np.float64)
    padded = np.empty(line + 2 * channels * radius, np.float64)
    middle = padded[channels * radius : channels * radius + line]
    for y in range(height):
        centre = values[y]
        for x in range(line):
            middle[x] = side[0] * centre[x]
        k = radius
        while k >= 2:  # two pairs at a time: half as many trips through memory, the same order
            a, b = values[max(y - k, 0)], values[min(y + k, height - 1)]
            c, d = values[max(y - k + 1, 0)], values[min(y + k - 1, height - 1)]
            outer, inner = side[k], side[k - 1]
            for x in range(line):
                middle[x] = middle[x] + (a[x] + b[x]) * outer + (c[x] + d[x]) * inner
            k -= 2
        if k == 1:
            a, b = values[max(y - 1, 0)], values[min(y + 1, height - 1)]
            for x in range(line):
                middle[x] += (a[x] + b[x]) * side[1]
        for k in range(radius):
            for channel in range(channels):
                padded[channels * k + channel] = middle[channel]
                padded[channels * (radius + k) + line + channel] = middle[line - channels + channel]
        total = out[y]
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
    return out
