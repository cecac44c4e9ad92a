"""Caustic refraction: the image seen through the moving surface of water."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.bilinear import level_between
from windtunnel.kernels.gaussian import weights
from windtunnel.kernels.jit import jit
from windtunnel.published.c_bar import SOURCE, c_bar_severities

WAVES = 5
# Rows and columns begin here in the pattern, in radians; the pattern depends on it.
ORIGIN = -250.0
REFRACTIVE_INDEX = 4.0
# Surfaces whose normal has a smaller slope do not refract.
FLAT = 1.0 - 1e-3


@corruption(
    params=("strength",),
    severities=c_bar_severities("caustic_refraction"),
    imitates="Looking through moving water or uneven glass.",
    met_by="Underwater cameras, pools, textured glass, wet windscreens.",
    family="geometry",
    source=SOURCE,
    revision=1,
    motion="moves",
    golden="a475ace76f677ea55091280e6852f728",
)
def caustic_refraction(image: Image, rng: Draws, *, strength: float) -> Image:
    """Refract by the slope of a pattern of caustics, smoothed with sigma 1, and light it from one side."""
    height, width = image.shape[:2]
    side = min(height, width)
    size = rng.uniform("size", 0.75, 1.25) * side
    caustics = _caustics(height, width, rng.uniform("time", 0.5, 2.0), size)
    half = weights(1.0)
    kernel = np.concatenate([half[:0:-1], half])
    caustics = cv2.sepFilter2D(caustics, cv2.CV_64F, kernel, kernel, borderType=cv2.BORDER_REFLECT)
    return _refract(image, caustics, 0.05 * strength * side, 0.2 * strength)


@jit
def _caustics(height: int, width: int, time: float, size: float) -> NDArray[np.float64]:
    """The light of five interfering waves, 0 to 1."""
    out = np.empty((height, width))
    for row in range(height):
        for column in range(width):
            y = (row / size) % 1.0 * math.tau + ORIGIN
            x = (column / size) % 1.0 * math.tau + ORIGIN
            cosine_y, sine_y = math.cos(y), math.sin(y)
            cosine_x, sine_x = math.cos(x), math.sin(x)
            light = 1.0
            for wave in range(WAVES):
                moment = time * (1.0 - 3.5 / (wave + 1))
                cosine, sine = math.cos(moment), math.sin(moment)
                # cos(t - a) + sin(t + b) and sin(t - b) + cos(t + a), from the sums of angles
                down = y + cosine * cosine_y + sine * sine_y + sine * cosine_x + cosine * sine_x
                across = x + sine * cosine_x - cosine * sine_x + cosine * cosine_y - sine * sine_y
                cosine_y, sine_y = math.cos(down), math.sin(down)
                cosine_x, sine_x = math.cos(across), math.sin(across)
                first = 0.005 * y / (sine_y * cosine + cosine_y * sine)
                second = 0.005 * x / (cosine_x * cosine - sine_x * sine)
                light += 1.0 / math.sqrt(first * first + second * second)
            out[row, column] = min(abs(1.17 - (light / WAVES) ** 1.4) ** 8.0, 1.0)
    return out


@jit
def _refract(image: Image, caustics: NDArray[np.float64], lens: float, lighting: float) -> Image:
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    for y in range(height):
        for x in range(width):
            slope_y, slope_x = -_at(caustics, y - 1, x), -_at(caustics, y, x - 1)
            slope_y += _at(caustics, y + 1, x)
            slope_x += _at(caustics, y, x + 1)
            steepness = math.sqrt(slope_y * slope_y + slope_x * slope_x)
            cosine = 1.0 / math.sqrt(steepness * steepness + 1.0)
            down, across = 0.0, 0.0
            if cosine < FLAT:
                angle = math.acos(cosine)
                bend = lens * math.sin(angle - math.asin(math.sin(angle) / REFRACTIVE_INDEX)) / steepness
                down, across = round(bend * slope_y, 3), round(bend * slope_x, 3)
            light = lighting * (slope_y - slope_x)
            for c in range(3):
                level = level_between(image, y + down, x + across, c)
                out[y, x, c] = np.uint8(255.0 * min(max(level / 255.0 + light, 0.0), 1.0))
    return out


@jit
def _at(field: NDArray[np.float64], y: int, x: int) -> float:
    """The value at a place, 0 outside."""
    return field[y, x] if 0 <= y < field.shape[0] and 0 <= x < field.shape[1] else 0.0
