"""Transverse chromatic aberration: the three colours have different magnifications."""

from __future__ import annotations

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.cubic_spline import spline_taps
from windtunnel.kernels.jit import jit
from windtunnel.published.c_bar import CIFAR_SOURCE, c_bar_severities


@corruption(
    params=("strength",),
    severities=c_bar_severities("transverse_chromatic_abberation"),
    imitates="A lens that magnifies the colours differently.",
    met_by="Wide-angle, zoom and cheap lenses, prisms in front of the camera.",
    family="colour",
    source=CIFAR_SOURCE,
    revision=1,
    golden="d905e06c4141e15151f4e30a1fb78ced",
)
def transverse_chromatic_abberation(image: Image, rng: Draws, *, strength: float) -> Image:
    """Magnify the channels, in random order, by 1, 1 + 2.5 % strength and 1 + 5 % strength.

    As published, levels are the coefficients of a cubic spline, which blurs every channel.
    """
    out = np.empty_like(image)
    scales = (1.0, 1.0 + 0.025 * strength, 1.0 + 0.05 * strength)
    for channel, number in enumerate(rng.permutation("channels", 3)):
        _magnified(image, channel, scales[number], out)
    return out


@jit
def _magnified(image: Image, channel: int, scale: float, out: Image) -> None:
    height, width = image.shape[:2]
    tall, wide = round(height * scale), round(width * scale)
    top, left = (tall - height) // 2, (wide - width) // 2
    rows, columns = np.empty((height, 4), np.int64), np.empty((width, 4), np.int64)
    row_weights, column_weights = np.empty((height, 4)), np.empty((width, 4))
    for y in range(height):
        spline_taps((y + top) * (height - 1) / (tall - 1), height, rows[y], row_weights[y])
    for x in range(width):
        spline_taps((x + left) * (width - 1) / (wide - 1), width, columns[x], column_weights[x])
    for y in range(height):
        for x in range(width):
            level = 0.0
            for i in range(4):
                along = 0.0
                for j in range(4):
                    along += column_weights[x, j] * np.float64(image[rows[y, i], columns[x, j], channel])
                level += row_weights[y, i] * along
            out[y, x, channel] = np.uint8(min(level + 0.5, 255.0))
