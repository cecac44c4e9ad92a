"""Contrast: every channel is scaled towards its mean."""

from __future__ import annotations

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.jit import jit

USUAL = ((0.4,), (0.3,), (0.2,), (0.1,), (0.05,))


@corruption(
    params=("factor",),
    severities={224: USUAL, 299: USUAL, 64: USUAL, 32: ((0.75,), (0.5,), (0.4,), (0.3,), (0.15,))},
    imitates="Flat light, haze on the lens, a washed-out print.",
    met_by="Cameras in haze, backlight or dusk, endoscopes, scanners of faded prints.",
    family="digital",
    source="Hendrycks & Dietterich 2019, ImageNet-C",
    revision=1,
    golden="7f03515a5db6b67d927b1fdc2f8d9cfe",
    random=False,
)
def contrast(image: Image, rng: Draws, *, factor: float) -> Image:  # noqa: ARG001
    """y = clip((x - mean) * factor + mean), mean over the image, channel by channel."""
    return _towards_mean(image, factor)


@jit
def _towards_mean(image: Image, factor: float) -> Image:
    height, width = image.shape[:2]
    sums = np.zeros(3, np.int64)
    for y in range(height):
        source = image[y].reshape(-1)
        red = green = blue = 0
        for x in range(width):
            red += source[3 * x]
            green += source[3 * x + 1]
            blue += source[3 * x + 2]
        sums[0] += red
        sums[1] += green
        sums[2] += blue
    table = np.empty((256, 3), np.uint8)
    for channel in range(3):
        mean = sums[channel] / 255.0 / (height * width)
        for level in range(256):
            value = (level / 255.0 - mean) * factor + mean
            table[level, channel] = np.uint8(min(max(value, 0.0), 1.0) * 255.0)
    out = np.empty((height, width, 3), np.uint8)
    for y in range(height):
        source, target = image[y].reshape(-1), out[y].reshape(-1)
        for x in range(width):
            target[3 * x] = table[source[3 * x], 0]
            target[3 * x + 1] = table[source[3 * x + 1], 1]
            target[3 * x + 2] = table[source[3 * x + 2], 2]
    return out
