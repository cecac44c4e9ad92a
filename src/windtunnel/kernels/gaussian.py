"""Gaussian smoothing as SciPy defines it: sampled weights, cut at `truncate` standard deviations.

The reference sums in float64 and truncates to bytes: in uniform areas the last bit of the sum can change a
level. Fields and narrow blurs are summed in the same way, in SciPy's order. Wider blurs of bytes are summed
in float32, which is half the work, after a small offset that reproduces the reference in uniform areas.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.kernels.jit import jit
from windtunnel.kernels.lines import lines

Precision = TypeVar("Precision", np.float32, np.float64)

# Truncation of a blur in the reference's libraries, in standard deviations.
BLUR_TRUNCATE = 4.0
# With a smaller sigma not only uniform areas but also ramps sum to a whole level, or nearly: the last bit
# then matters for too many pixels.
NARROWEST_FLOAT32_SIGMA = 0.875
# Number of cached blurs: a sequence has one for each of its frames.
_KEPT = 256


@lru_cache(maxsize=_KEPT)
def weights(sigma: float, truncate: float = BLUR_TRUNCATE) -> NDArray[np.float64]:
    """The weights at 0, 1, 2 ... of a Gaussian that sums to one over both sides."""
    radius = int(truncate * sigma + 0.5)
    if radius == 0:
        return np.ones(1)
    # math.exp, not np.exp: the latter's last bit depends on the processor.
    full = np.array([math.exp(-0.5 / (sigma * sigma) * (i * i)) for i in range(-radius, radius + 1)])
    return np.ascontiguousarray((full / full.sum())[radius:])


def blur_bytes(image: Image, sigma: float, truncate: float = BLUR_TRUNCATE) -> Image:
    """Blur every channel (border replicated), truncated back to bytes."""
    side = weights(sigma, truncate)
    if len(side) == 1:
        return image.copy()
    if sigma < NARROWEST_FLOAT32_SIGMA:
        return _blur_bytes(image, side, _unit_levels(), np.float64(255))
    narrow_side, levels = _float32_blur(sigma, truncate)
    return _blur_bytes(image, narrow_side, levels, np.float32(1))


@lru_cache(maxsize=1)
def _unit_levels() -> NDArray[np.float64]:
    """Bytes as numbers on the reference's scale."""
    return np.arange(256) / 255.0


@lru_cache(maxsize=_KEPT)
def _float32_blur(sigma: float, truncate: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Weights, and the levels 0 to 255 with a small offset that reproduces truncation in uniform areas.

    The offset exceeds the float32 rounding error and is too small to affect areas of mixed levels.
    """
    side = weights(sigma, truncate)
    each = np.repeat(np.arange(256, dtype=np.uint8), 3).reshape(256, 1, 1, 3)
    even = np.array([_blur_bytes(pixel, side, _unit_levels(), np.float64(255))[0, 0, 0] for pixel in each])
    levels = np.arange(256)
    hair = 1.5 * _float32_miss(side)
    return side.astype(np.float32), np.where(even < levels, levels - hair, levels + hair).astype(np.float32)


def _float32_miss(side: NDArray[np.float64]) -> float:
    """Upper bound of the float32 rounding error in a blur of bytes, in levels.

    A sum of part of the weights is rounded by at most 2**-24 of that part of 255. So are the weights
    themselves, the pairs and the products, together by three times that of all of them; and all this twice.
    """
    parts = side[0] + 2 * np.cumsum(side[:0:-1])
    return float(2 * 255 * 2.0**-24 * (parts.sum() + 3))


def smooth_replicated(field: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    """Smooth a field, its border replicated."""
    side = weights(sigma)
    return field if len(side) == 1 else _smooth(field, side)


@jit
def _blur_bytes(
    image: Image, side: NDArray[Precision], levels: NDArray[Precision], per_unit: Precision
) -> Image:
    """Blur numbers that represent bytes; the sum of white is 255 / per_unit.

    Only the rows within reach are kept as numbers: whole images of them would not fit the cache.
    """
    height, width = image.shape[:2]
    line = width * 3
    radius = side.size - 1
    row_count = 2 * radius + 1
    rows = np.empty((row_count, line), side.dtype)
    padded = np.empty(line + 6 * radius, side.dtype)
    total = np.empty(line, side.dtype)
    out = np.empty((height, width, 3), np.uint8)
    sources, targets = lines(image), lines(out)
    for y in range(-radius, height):
        entering = y + radius
        if entering < height:
            source, number = sources[entering], rows[entering % kept]
            for x in range(line):
                number[x] = levels[source[x]]
        if y >= 0:
            _smooth_row(rows, y, height, kept, side, padded, total)
            target = targets[y]
            for x in range(line):  # white may exceed 255, but never reach 256
                target[x] = np.uint8(np.int32(total[x] * per_unit))
    return out


@jit
def _smooth(values: NDArray[np.float64], side: NDArray[np.float64]) -> NDArray[np.float64]:
    height, line = values.shape
    out = np.empty((height, line), np.float64)
    padded = np.empty(line + 2 * (side.size - 1), np.float64)
    for y in range(height):
        _smooth_row(values, y, height, height, side, padded, out[y])
    return out


@jit
def _smooth_row(
    rows: NDArray[Precision],
    y: int,
    height: int,
    row_count: int,
    side: NDArray[Precision],
    padded: NDArray[Precision],
    total: NDArray[Precision],
) -> None:
    """One row, down and then across: the centre first, then pairs from the farthest to the nearest.

    Row n of the image is at n % row_count. Two pairs are taken at a time, an odd one with the centre: half
    as many trips through memory, and the same order of sums.
    """
    radius = side.size - 1
    line = total.size
    # Not an argument: for constant ones numba compiles the function once each.
    channels = (padded.size - line) // (2 * radius)
    middle = padded[channels * radius : channels * radius + line]
    centre = rows[y % row_count]
    if radius % 2 == 1:
        a, b = rows[max(y - radius, 0) % row_count], rows[min(y + radius, height - 1) % row_count]
        for x in range(line):
            middle[x] = side[0] * centre[x] + (a[x] + b[x]) * side[radius]
    else:
        for x in range(line):
            middle[x] = side[0] * centre[x]
    for k in range(radius - radius % 2, 0, -2):
        a, b = rows[max(y - k, 0) % row_count], rows[min(y + k, height - 1) % row_count]
        c, d = rows[max(y - k + 1, 0) % row_count], rows[min(y + k - 1, height - 1) % row_count]
        outer, inner = side[k], side[k - 1]
        for x in range(line):
            middle[x] = middle[x] + (a[x] + b[x]) * outer + (c[x] + d[x]) * inner
    for k in range(radius):
        for channel in range(channels):
            padded[channels * k + channel] = middle[channel]
            padded[channels * (radius + k) + line + channel] = middle[line - channels + channel]
    if radius % 2 == 1:
        a, b = padded[:line], padded[2 * channels * radius :]
        for x in range(line):
            total[x] = side[0] * middle[x] + (a[x] + b[x]) * side[radius]
    else:
        for x in range(line):
            total[x] = side[0] * middle[x]
    for k in range(radius - radius % 2, 0, -2):
        begin, end = channels * (radius - k), channels * (radius + k)
        a, b = padded[begin : begin + line], padded[end : end + line]
        c, d = (
            padded[begin + channels : begin + channels + line],
            padded[end - channels : end - channels + line],
        )
        outer, inner = side[k], side[k - 1]
        for x in range(line):
            total[x] = total[x] + (a[x] + b[x]) * outer + (c[x] + d[x]) * inner
