"""Images through OpenCV's 8-bit HSV and HLS and back to RGB (hue 0..179, others 0..255)."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.kernels.byte_arithmetic import shift_hsv
from windtunnel.kernels.jit import jit
from windtunnel.kernels.lines import lines

_BYTE, _HUES_PER_SECTOR = np.float32(1 / 255), np.float32(6 / 180)
_ZERO, _HALF, _ONE, _TWO, _THREE, _FOUR = (np.float32(value) for value in (0, 0.5, 1, 2, 3, 4))
_WHITE = np.float32(255)


def shifted_in_hsv(image: Image, hue: float, saturation: float = 0.0, value: float = 0.0) -> Image:
    """Hue (in units of 2 degrees), saturation and value shifted."""
    hsv = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2HSV), np.uint8)
    return np.asarray(cv2.cvtColor(shift_hsv(hsv, hue, saturation, value), cv2.COLOR_HSV2RGB), np.uint8)


def scaled_lightness(image: Image, factor: float, below: float = 256.0) -> Image:
    """Lightness of HLS times a factor, where it is below a limit."""
    hls = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2HLS), np.uint8)
    return rgb_of_scaled(hls, np.float32(factor), np.float32(below))


@jit
def rgb_of_scaled(hls: Image, factor: np.float32, below: np.float32) -> Image:
    """`cv2.cvtColor` to RGB of 8-bit HLS whose lightness is multiplied first, where it is below a limit."""
    height, width = hls.shape[:2]
    out, pixels = np.empty((height, width, 3), np.uint8), np.empty(width, np.int32)
    planes = np.empty((3, width), np.float32)
    sources, targets = lines(hls), lines(out)
    for y in range(height):
        _split_row(sources[y], planes)
        _join_row(planes, factor, below, pixels)
        _unpack_row(pixels, targets[y])
    return out


@jit
def _split_row(source: NDArray[np.uint8], planes: NDArray[np.float32]) -> None:
    hues, lightnesses, saturations = planes[0], planes[1], planes[2]
    for x in range(hues.size):
        at = np.uint64(3 * x)  # unsigned: no negative index to look for
        hues[x] = source[at]
        lightnesses[x] = source[at + np.uint64(1)]
        saturations[x] = source[at + np.uint64(2)]


@jit
def _join_row(
    planes: NDArray[np.float32], factor: np.float32, below: np.float32, pixels: NDArray[np.int32]
) -> None:
    """Pixels of a row, three bytes packed into a number."""
    hues, lightnesses, saturations = planes[0], planes[1], planes[2]
    for x in range(pixels.size):
        level = lightnesses[x]
        level = np.float32(np.int32(min(level * factor, _WHITE))) if level < below else level
        lightness, saturation = level * _BYTE, saturations[x] * _BYTE
        dark, light = lightness * (_ONE + saturation), lightness + saturation - lightness * saturation
        high = dark if lightness <= _HALF else light
        low = _TWO * lightness - high
        spread, turn = high - low, hues[x] * _HUES_PER_SECTOR
        red = min(max(abs(turn - _THREE) - _ONE, _ZERO), _ONE)
        green = min(max(_TWO - abs(turn - _TWO), _ZERO), _ONE)
        blue = min(max(_TWO - abs(turn - _FOUR), _ZERO), _ONE)
        pixels[x] = (
            _rounded(low + spread * red)
            | _rounded(low + spread * green) << np.int32(8)
            | _rounded(low + spread * blue) << np.int32(16)
        )


@jit
def _rounded(share: np.float32) -> np.int32:
    """A share of white as a level; it is never negative."""
    return np.int32(min(np.rint(share * _WHITE), _WHITE))


@jit
def _unpack_row(pixels: NDArray[np.int32], target: NDArray[np.uint8]) -> None:
    for x in range(pixels.size):
        at = np.uint64(3 * x)  # unsigned: no negative index to look for
        target[at] = np.uint8(pixels[x])
        target[at + np.uint64(1)] = np.uint8(pixels[x] >> 8)
        target[at + np.uint64(2)] = np.uint8(pixels[x] >> 16)
