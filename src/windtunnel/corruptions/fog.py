"""Fog: a plasma map is added to the image, and the sum is scaled to keep its range."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.jit import jit
from windtunnel.kernels.plasma import plasma


@corruption(
    params=("amount", "decay"),
    severities={
        224: ((1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4)),
        299: ((1.5, 2), (2, 2), (2.5, 1.8), (2.5, 1.6), (3, 1.5)),
        64: ((0.4, 3), (0.7, 3), (1, 2.5), (1.5, 2), (2, 1.75)),
        32: ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)),
    },
    imitates="Fog, steam or smoke between the camera and the subject.",
    met_by="Cars, drones, ships and outdoor cameras on misty mornings; cameras in kitchens and fires.",
    family="weather",
    source="Hendrycks & Dietterich 2019, ImageNet-C",
    revision=1,
    golden="46ef7bea3187095ab4c63a31505fdbf0",
)
def fog(image: Image, rng: Draws, *, amount: float, decay: float) -> Image:
    """y = clip((x + amount * map) * max / (max + amount)), max over the whole image."""
    height, width = image.shape[:2]
    size = 1 << (max(height, width) - 1).bit_length()
    return _blend(image, *plasma(size, decay, rng.key("map")), amount)


@jit
def _blend(
    image: Image, layer: NDArray[np.float64], low: float, height_of_map: float, amount: float
) -> Image:
    height, width = image.shape[:2]
    brightest = image.max() / 255.0
    dim = brightest / (brightest + amount)
    scale = 255.0 * amount / height_of_map
    haze = np.empty(width * 3, np.float64)
    out = np.empty((height, width, 3), np.uint8)
    for y in range(height):
        clouds = layer[y]
        for x in range(width):
            thick = (clouds[x] - low) * scale
            haze[3 * x] = thick
            haze[3 * x + 1] = thick
            haze[3 * x + 2] = thick
        source, target = image[y].reshape(-1), out[y].reshape(-1)
        for x in range(width * 3):
            target[x] = np.uint8(min((source[x] + haze[x]) * dim, 255.0))
    return out
