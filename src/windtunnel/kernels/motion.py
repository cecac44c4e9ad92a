"""Motion blur as ImageMagick draws it: a one-sided half-Gaussian trail of whole-pixel steps."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from windtunnel.kernels.jit import jit

# ImageMagick sums in 16 bits: a byte times this.
QUANTUM = np.float32(257)
TO_BYTE = np.float32(1 / 257)
HALF = np.float32(0.5)

Weights = NDArray[np.float32] | NDArray[np.float64]
Taps = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


def trail(radius: float, sigma: float, angle_degrees: float) -> Taps:
    """Steps to the right, steps down, and weights of the trail; steps that coincide are joined."""
    count = 2 * math.ceil(radius) + 1
    strength = [math.exp(-(i * i) / (2 * sigma * sigma)) for i in range(count)]
    across, down = math.cos(math.radians(angle_degrees)), math.sin(math.radians(angle_degrees))
    joined: dict[tuple[int, int], float] = {}
    for i in range(count):
        step = (math.ceil(i * across - 0.5), math.ceil(i * down - 0.5))
        joined[step] = joined.get(step, 0.0) + strength[i] / sum(strength)
    steps = np.array(list(joined), np.int64)
    return (
        np.ascontiguousarray(steps[:, 0]),
        np.ascontiguousarray(steps[:, 1]),
        np.array(list(joined.values()), np.float64),
    )


def blur_along(
    image: NDArray[np.uint8], radius: float, sigma: float, angle_degrees: float, *, exact: bool = False
) -> NDArray[np.uint8]:
    """Blur a picture (HxWx3) or a layer (HxWx1) along a trail; the border is replicated.

    `exact` sums in float64: float32 rounds one pixel in thousands to the neighbouring level.
    """
    across, down, weight = trail(radius, sigma, angle_degrees)
    return _blur_along(image, across, down, weight if exact else weight.astype(np.float32))


@jit
def _shifted(
    padded: Weights,
    y: int,
    tap: int,
    across: NDArray[np.int64],
    down: NDArray[np.int64],
    left: int,
    channels: int,
    line: int,
) -> Weights:
    """The row a tap reads for output row y."""
    row = padded[min(max(y + down[tap], 0), padded.shape[0] - 1)]
    start = (left + across[tap]) * channels
    return row[start : start + line]  # type: ignore[no-any-return]


@jit
def _blur_along(
    image: NDArray[np.uint8],
    across: NDArray[np.int64],
    down: NDArray[np.int64],
    weight: Weights,
) -> NDArray[np.uint8]:
    height, width, channels = image.shape
    left = max(-across.min(), 0)
    right = max(across.max(), 0)
    line = width * channels
    padded = np.empty((height, (left + width + right) * channels), weight.dtype)
    for y in range(height):
        source = image[y].reshape(-1)
        target = padded[y]
        middle = target[left * channels : left * channels + line]
        for x in range(line):
            middle[x] = source[x]
        for x in range(left * channels):
            target[x] = source[x % channels]
        for x in range(right * channels):
            target[left * channels + line + x] = source[line - channels + x % channels]
    out = np.empty((height, width, channels), np.uint8)
    total = np.empty(line, weight.dtype)
    for y in range(height):
        total[:] = 0
        tap = 0
        while tap + 3 < weight.size:  # four taps at a time: a quarter of the trips through memory
            a, b = (
                _shifted(padded, y, tap, across, down, left, channels, line),
                _shifted(padded, y, tap + 1, across, down, left, channels, line),
            )
            c, d = (
                _shifted(padded, y, tap + 2, across, down, left, channels, line),
                _shifted(padded, y, tap + 3, across, down, left, channels, line),
            )
            w, v, u, t = weight[tap], weight[tap + 1], weight[tap + 2], weight[tap + 3]
            for x in range(line):
                total[x] += w * a[x] + v * b[x] + u * c[x] + t * d[x]
            tap += 4
        while tap < weight.size:
            a = _shifted(padded, y, tap, across, down, left, channels, line)
            for x in range(line):
                total[x] += weight[tap] * a[x]
            tap += 1
        target8 = out[y].reshape(-1)
        for x in range(line):
            quantum = np.int32(total[x] * QUANTUM + HALF)
            target8[x] = np.uint8(np.int32(np.float32(quantum) * TO_BYTE + HALF))
    return out
