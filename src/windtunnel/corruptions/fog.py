"""Fog: a plasma map is added to the image, and the sum is scaled to keep its range."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.jit import jit
from windtunnel.kernels.lines import lines
from windtunnel.kernels.plasma import plasma, weave

ONE, TWO = np.uint64(1), np.uint64(2)


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
    image: Image, grids: NDArray[np.float64], low: float, height_of_map: float, amount: float
) -> Image:
    height, width = image.shape[:2]
    brightest = image.max() / 255.0
    dim = brightest / (brightest + amount)
    scale = 255.0 * amount / height_of_map
    clouds = np.empty(width + width % 2, np.float64)
    haze = np.empty(width * 3, np.float64)
    out = np.empty((height, width, 3), np.uint8)
    sources, targets = lines(image), lines(out)
    for y in range(height):
        first = y % 2 * 2
        weave(grids[first, y // 2], grids[first + 1, y // 2], clouds)
        for x in range(width):
            thick = (clouds[x] - low) * scale
            at = np.uint64(3 * x)  # unsigned: no negative index to look for
            haze[at] = thick
            haze[at + ONE] = thick
            haze[at + TWO] = thick
        source, target = sources[y], targets[y]
        for x in range(width * 3):
            hazy = (np.float64(np.int32(source[x])) + haze[x]) * dim
            target[x] = np.uint8(np.int32(min(hazy, 255.0)))
    return out
