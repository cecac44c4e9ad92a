"""Linear functions of bytes, clipped to 0..255 and truncated.

They replace tables, except on processors that look up 64 bytes at a time: the compiler vectorises arithmetic,
but not lookups. Numbers are computed in the type of
the given ones, float32 or float64, so that truncation falls where the definition's does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.kernels.byte_tables import UNCHANGED
from windtunnel.kernels.jit import jit
from windtunnel.kernels.lines import lines
from windtunnel.kernels.vector_lookup import IS_FAST, look_up

Real = np.float32 | np.float64
# Hues of 8-bit HSV, in units of 2 degrees.
HUES = 180
# float32 has at least 14 binary places for sums of up to 510.
_SAFE = 2.0**-13
# No hue: such a value never wraps around.
_NEVER = 1 << 14


def shift_bytes(image: Image, shift: np.float32) -> Image:
    """v + shift, the same for all channels; of at most 255 in size.

    A sum without its fraction is v plus the shift without its own, which OpenCV adds faster. Only a fraction
    close to 0 or 1 can be rounded to a whole number in float32.
    """
    whole = floor(shift)
    if IS_FAST or not _SAFE < shift - whole < 1 - _SAFE:
        return scale_and_shift(image, np.float32(1), shift)
    size = abs(whole)
    return np.asarray((cv2.add if whole > 0 else cv2.subtract)(image, (size, size, size, 0)), np.uint8)


def shift_channels(image: Image, shifts: NDArray[np.float32]) -> Image:
    """v + shift, with a shift for each channel."""
    return _shift(image, np.tile(shifts, image.shape[1]))


def scale_below(image: Image, factor: np.float32, limits: Sequence[float]) -> Image:
    """v * factor where v is below the limit of its channel; other values stay."""
    return _scale_below(image, factor, np.tile(np.array(limits, np.float32), image.shape[1]))


def shift_hsv(hsv: Image, hue: float, saturation: float, value: float) -> Image:
    """8-bit HSV with every channel shifted; the hue wraps around."""
    shifts = [int(np.floor(hue % HUES)), int(np.floor(saturation)), int(np.floor(value))]
    wraps = [HUES, _NEVER, _NEVER]
    width = hsv.shape[1]
    return _shift_hsv(
        hsv, np.tile(np.array(shifts, np.int16), width), np.tile(np.array(wraps, np.int16), width)
    )


def scale_and_shift(image: Image, factor: Real, shift: Real) -> Image:
    """v * factor + shift."""
    scale: Callable[..., None] = _scale_double if factor.dtype == np.float64 else _scale_single
    out = np.empty_like(image)
    if IS_FAST:
        table = np.empty(256, np.uint8)
        scale(UNCHANGED, factor, shift, table)
        look_up(image, table, out)
    else:
        scale(image.reshape(-1), factor, shift, out.reshape(-1))
    return out


@jit
def _scale_single(
    values: NDArray[np.uint8], factor: np.float32, shift: np.float32, out: NDArray[np.uint8]
) -> None:
    for place in range(values.size):
        changed = np.float32(np.int32(values[place])) * factor + shift
        out[place] = np.uint8(np.int32(min(max(changed, np.float32(0)), np.float32(255))))


@jit
def _scale_double(
    values: NDArray[np.uint8], factor: np.float64, shift: np.float64, out: NDArray[np.uint8]
) -> None:
    for place in range(values.size):
        changed = np.float64(np.int32(values[place])) * factor + shift
        out[place] = np.uint8(np.int32(min(max(changed, 0.0), 255.0)))


@jit
def _shift(image: Image, shifts: NDArray[np.float32]) -> Image:
    out = np.empty(image.shape, np.uint8)
    sources, targets = lines(image), lines(out)
    for y in range(sources.shape[0]):
        source, target = sources[y], targets[y]
        for x in range(source.size):
            changed = np.float32(np.int32(source[x])) + shifts[x]
            target[x] = np.uint8(np.int32(min(max(changed, np.float32(0)), np.float32(255))))
    return out


@jit
def _scale_below(image: Image, factor: np.float32, limits: NDArray[np.float32]) -> Image:
    out = np.empty(image.shape, np.uint8)
    sources, targets = lines(image), lines(out)
    for y in range(sources.shape[0]):
        source, target = sources[y], targets[y]
        for x in range(source.size):
            before = np.float32(np.int32(source[x]))
            after = before * factor if before < limits[x] else before
            target[x] = np.uint8(np.int32(min(after, np.float32(255))))
    return out


@jit
def _shift_hsv(hsv: Image, shifts: NDArray[np.int16], wraps: NDArray[np.int16]) -> Image:
    out = np.empty(hsv.shape, np.uint8)
    sources, targets = lines(hsv), lines(out)
    for y in range(sources.shape[0]):
        source, target = sources[y], targets[y]
        for x in range(source.size):
            changed = np.int16(np.int16(source[x]) + shifts[x])
            changed = np.int16(changed - wraps[x]) if changed >= wraps[x] else changed
            target[x] = np.uint8(min(max(changed, np.int16(0)), np.int16(255)))
    return out
