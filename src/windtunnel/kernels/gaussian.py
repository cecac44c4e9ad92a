"""Gaussian smoothing as SciPy defines it: sampled weights, cut at `truncate` standard deviations.

The reference sums in float64 and truncates to bytes: in uniform areas the last bit of the sum can change a
level. Fields and narrow blurs are summed in the same way, in SciPy's order. Wider blurs of bytes are summed
in float32, which is half the work, after a small offset that reproduces the reference in uniform areas.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.kernels.jit import jit
from windtunnel.kernels.lines import lines
from windtunnel.kernels.scratch import padded_to_line, scratch
from windtunnel.kernels.unit import unit

Precision = TypeVar("Precision", np.float32, np.float64)

# Truncation of a blur in the reference's libraries, in standard deviations.
BLUR_TRUNCATE = 4.0
# With a smaller sigma not only uniform areas but also ramps sum to a whole level, or nearly: the last bit
# then matters for too many pixels.
NARROWEST_FLOAT32_SIGMA = 0.875
# Number of cached blurs: a sequence has one for each of its frames.
_KEPT = 256
# If more levels are lowered, a table is faster than looking for them one by one.
_MOST_LOWERED = 16


@lru_cache(maxsize=_KEPT)
def weights(sigma: float, truncate: float = BLUR_TRUNCATE) -> NDArray[np.float64]:
    """The weights at 0, 1, 2 ... of a Gaussian that sums to one over both sides."""
    radius = int(truncate * sigma + 0.5)
    if radius == 0:
        return np.ones(1)
    # math.exp, not np.exp: the latter's last bit depends on the processor.
    full = np.array([math.exp(-0.5 / (sigma * sigma) * (i * i)) for i in range(-radius, radius + 1)])
    return np.ascontiguousarray((full / full.sum())[radius:])


class _Levels(NamedTuple):
    """Bytes as numbers.

    Attributes:
        table: the number of each level; empty if numbers are levels on the reference's scale, from 0 to 1.
        hair: if not 0, every number is its level plus this, or minus this for the `lowered` levels.
        lowered: these levels, a multiple of four: the last may be repeated.
    """

    table: NDArray[Any]
    hair: Any
    lowered: NDArray[np.uint8]


def blur_bytes(image: Image, sigma: float, truncate: float = BLUR_TRUNCATE) -> Image:
    """Blur every channel (border replicated), truncated back to bytes."""
    side = weights(sigma, truncate)
    if len(side) == 1:
        return image.copy()
    if sigma < NARROWEST_FLOAT32_SIGMA:
        return _blurred(image, side, _unit_levels(), np.float64(255))
    return _blurred(image, *_float32_blur(sigma, truncate), np.float32(1))


def _blurred(image: Image, side: NDArray[Any], levels: _Levels, per_unit: Any) -> Image:
    row_count, line, dtype = 2 * len(side) - 1, image.shape[1] * 3, side.dtype.type
    rows = scratch("rows to blur", (row_count, padded_to_line(line, dtype)), dtype)
    return _blur_bytes(image, side, levels, per_unit, rows, *_line_buffers(line, 3, side))


def _line_buffers(line: int, channels: int, side: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Buffers for a row with its border, and for a row; the row proper begins at a cache line in both."""
    border, dtype = channels * (len(side) - 1), side.dtype.type
    start = padded_to_line(border, dtype)
    padded = scratch("line to blur", (start + line + border,), dtype)[start - border :]
    return padded, scratch("blurred line", (line,), dtype)


@lru_cache(maxsize=1)
def _unit_levels() -> _Levels:
    """Bytes as numbers on the reference's scale."""
    return _Levels(np.empty(0), np.float64(0), np.empty(0, np.uint8))


@lru_cache(maxsize=_KEPT)
def _float32_blur(sigma: float, truncate: float) -> tuple[NDArray[np.float32], _Levels]:
    """Weights, and the levels 0 to 255 with a small offset that reproduces truncation in uniform areas.

    The offset exceeds the float32 rounding error and is too small to affect areas of mixed levels.
    """
    side = weights(sigma, truncate)
    each = np.repeat(np.arange(256, dtype=np.uint8), 3).reshape(256, 1, 1, 3)
    exact = [_blurred(pixel, side, _unit_levels(), np.float64(255))[0, 0, 0] for pixel in each]
    levels, hair = np.arange(256), 1.5 * _float32_miss(side)
    lower = np.array(exact) < levels
    table = np.where(lower, levels - hair, levels + hair).astype(np.float32)
    # Sums instead of lookups, if they give the same numbers.
    step, lowered = np.float32(hair), np.flatnonzero(lower).astype(np.uint8)
    sums = levels.astype(np.float32) + np.where(lower, -step, step)
    if len(lowered) > _MOST_LOWERED or (sums != table).any():
        step = np.float32(0)
    lowered = np.pad(lowered, (0, -len(lowered) % 4), mode="edge") if len(lowered) else lowered
    return side.astype(np.float32), _Levels(table, step, lowered)


def _float32_miss(side: NDArray[np.float64]) -> float:
    """Upper bound of the float32 rounding error in a blur of bytes, in levels.

    A sum of part of the weights is rounded by at most 2**-24 of that part of 255. So are the weights
    themselves, the pairs and the products, together by three times that of all of them; and all this twice.
    """
    parts = side[0] + 2 * np.cumsum(side[:0:-1])
    return float(2 * 255 * 2.0**-24 * (parts.sum() + 3))


def smooth_replicated(
    field: NDArray[np.float64], sigma: float, out: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Smooth a field, its border replicated, into another one; returns the one with the result."""
    side = weights(sigma)
    if len(side) == 1:
        return field
    _smooth(field, side, *_line_buffers(field.shape[1], 1, side), out)
    return out


@jit
def _blur_bytes(
    image: Image,
    side: NDArray[Precision],
    levels: _Levels,
    per_unit: Precision,
    rows: NDArray[Precision],
    padded: NDArray[Precision],
    total: NDArray[Precision],
) -> Image:
    """Blur numbers that represent bytes; the sum of white is 255 / per_unit.

    Only the rows within reach are kept as numbers: whole images of them would not fit the cache.
    """
    height, width = image.shape[:2]
    radius, row_count = side.size - 1, rows.shape[0]
    out = np.empty((height, width, 3), np.uint8)
    sources, targets = lines(image), lines(out)
    for y in range(-radius, height):
        entering = y + radius
        if entering < height:
            _to_numbers(sources[entering], levels, rows[entering % row_count])
        if y >= 0:
            _smooth_row(rows, y, height, row_count, side, padded, total)
            target = targets[y]
            for x in range(total.size):  # white may exceed 255, but never reach 256
                target[x] = np.uint8(np.int32(total[x] * per_unit))
    return out


@jit
def _to_numbers(source: NDArray[np.uint8], levels: _Levels, number: NDArray[Precision]) -> None:
    """Bytes as numbers; the compiler vectorises the search for lowered levels, but not lookups."""
    table, hair, lowered = levels
    if table.size == 0:
        for x in range(source.size):
            number[x] = unit(source[x])
        return
    if hair == 0:
        for x in range(source.size):
            number[x] = table[source[x]]
        return
    for x in range(source.size):
        number[x] = np.float32(np.int32(source[x])) + hair
    for k in range(0, lowered.size, 4):
        a, b, c, d = lowered[k], lowered[k + 1], lowered[k + 2], lowered[k + 3]
        for x in range(source.size):
            level = source[x]
            lower = (level == a) | (level == b) | (level == c) | (level == d)
            number[x] = np.float32(np.int32(level)) - hair if lower else number[x]


@jit
def _smooth(
    values: NDArray[np.float64],
    side: NDArray[np.float64],
    padded: NDArray[np.float64],
    total: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    for y in range(values.shape[0]):
        _smooth_row(values, y, values.shape[0], values.shape[0], side, padded, total)
        target = out[y]
        for x in range(total.size):
            target[x] = total[x]


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
    last = middle[line - channels :]
    for k in range(radius):
        left, right = np.uint64(channels * k), np.uint64(channels * (radius + k) + line)
        for channel in range(channels):
            i = np.uint64(channel)  # unsigned: no negative index to look for
            padded[left + i], padded[right + i] = middle[i], last[i]
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
