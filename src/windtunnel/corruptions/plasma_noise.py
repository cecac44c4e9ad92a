"""Plasma noise: bands of colour, warped several times."""

from __future__ import annotations

import math

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.jit import jit
from windtunnel.published.c_bar import SOURCE, c_bar_severities


@corruption(
    params=("strength",),
    severities=c_bar_severities("plasma_noise"),
    imitates="Iridescent film over the image.",
    met_by="Oil films, soap bubbles, interference on screens.",
    family="colour",
    source=SOURCE,
    revision=1,
    golden="0c8d8df411ac914c31a0babdcd27da19",
)
def plasma_noise(image: Image, rng: Draws, *, strength: float) -> Image:
    """Blend coloured sines of coordinates that are warped four to six times, with amplitude 6.4 strength."""
    return _blend(
        image,
        rng.uniform("time", 0, 6 * math.pi),
        rng.integer("iterations", 4, 7),
        2.25 - rng.uniform("sharpness", 0.5, 1.0),
        rng.uniform("scale", 0.075, 0.2) * min(image.shape[:2]),
        6.4 * strength,
    )


@jit
def _blend(image: Image, time: float, iterations: int, damping: float, scale: float, amount: float) -> Image:
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    keep, middle = 1 - amount / 255, math.sin(time)
    for row in range(height):
        for column in range(width):
            x, y = column / scale, row / scale
            frequency, delay, weight = 1.0, 1.0, 1.0
            for _ in range(iterations):
                across = math.cos(y * frequency + time / delay) / weight
                down = math.sin(x * frequency + time / delay) / weight
                x += across - 0.3 * down
                y += down + 0.3 * across
                frequency, delay, weight = 1.93 * frequency, 1.15 * delay, damping * weight
            colours = (math.sin(x - time), math.sin((x + y + middle) * 0.5), math.sin(y + time))
            for c in range(3):
                value = keep * np.float64(image[row, column, c]) + amount * colours[c]
                out[row, column, c] = np.uint8(min(max(value, 0.0), 255.0))
    return out
