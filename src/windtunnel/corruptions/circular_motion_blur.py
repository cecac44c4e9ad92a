"""Circular motion blur: the camera turns about its axis during the exposure."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import spline_filter

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.cubic_spline import spline_taps
from windtunnel.kernels.jit import jit
from windtunnel.published.c_bar import CIFAR_SOURCE, c_bar_severities

ROTATIONS = 21


@corruption(
    params=("strength",),
    severities=c_bar_severities("circular_motion_blur"),
    imitates="A camera that rolls during the exposure.",
    met_by="Drones, hand-held telephones, wheels and rotors.",
    family="blur",
    source=CIFAR_SOURCE,
    revision=1,
    golden="d6a3bf5315d36f8ec7e0691e5678096f",
    random=False,
)
def circular_motion_blur(image: Image, rng: Draws, *, strength: float) -> Image:  # noqa: ARG001
    """Average 21 rotations by up to 1.5 degrees strength, weighted exp(-2 share^2), with cubic splines."""
    planes = np.stack([spline_filter(image[:, :, c] / 255.0, 3, mode="mirror") for c in range(3)], axis=2)
    shares = [2 * number / (ROTATIONS - 1) - 1 for number in range(ROTATIONS)]
    angles = [math.radians(1.5 * strength * share) for share in shares]
    weights = np.array([math.exp(-2 * share**2) for share in shares])
    cosines, sines = np.array([math.cos(a) for a in angles]), np.array([math.sin(a) for a in angles])
    return _blurred(planes, cosines, sines, weights / weights.sum())


@jit
def _blurred(
    planes: NDArray[np.float64],
    cosines: NDArray[np.float64],
    sines: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> Image:
    height, width = planes.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    rows, columns = np.empty(4, np.int64), np.empty(4, np.int64)
    row_weights, column_weights = np.empty(4), np.empty(4)
    middle_y, middle_x = (height - 1) / 2, (width - 1) / 2
    for y in range(height):
        for x in range(width):
            red, green, blue = 0.0, 0.0, 0.0
            for number in range(weights.size):
                down, across = y - middle_y, x - middle_x
                row = middle_y + cosines[number] * down + sines[number] * across
                column = middle_x - sines[number] * down + cosines[number] * across
                if not (0 <= row <= height - 1 and 0 <= column <= width - 1):
                    continue
                spline_taps(row, height, rows, row_weights)
                spline_taps(column, width, columns, column_weights)
                for i in range(4):
                    for j in range(4):
                        weight = weights[number] * row_weights[i] * column_weights[j]
                        red += weight * planes[rows[i], columns[j], 0]
                        green += weight * planes[rows[i], columns[j], 1]
                        blue += weight * planes[rows[i], columns[j], 2]
            out[y, x, 0] = np.uint8(255.0 * min(max(red, 0.0), 1.0))
            out[y, x, 1] = np.uint8(255.0 * min(max(green, 0.0), 1.0))
            out[y, x, 2] = np.uint8(255.0 * min(max(blue, 0.0), 1.0))
    return out
