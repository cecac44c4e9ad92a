"""Inverse sparkles: white around a star-shaped window."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.jit import jit
from windtunnel.kernels.sparkle_rays import WHITE, ray_light
from windtunnel.published.c_bar import SOURCE, c_bar_severities

LEAST_RAYS, MOST_RAYS = 50, 200


@corruption(
    params=("strength",),
    severities=c_bar_severities("inverse_sparkles"),
    imitates="Glare that leaves a window in the middle.",
    met_by="Backlight, a fogged lens wiped in the centre.",
    family="lighting",
    source=SOURCE,
    revision=1,
    golden="95e5afad857d51a30a2e73dd2cd014d7",
)
def inverse_sparkles(image: Image, rng: Draws, *, strength: float) -> Image:
    """Show the image in a star with a radius of a quarter of the short side; its edge sharpens."""
    height, width = image.shape[:2]
    radius = 0.25 * min(height, width)
    row, column = rng.uniform("row", 0.25, 0.75) * height, rng.uniform("column", 0.25, 0.75) * width
    rays = rng.integer("rays", LEAST_RAYS, MOST_RAYS)
    lengths = radius + 0.25 * radius * np.array(rng.normals("lengths", rays))
    return _window(image, row, column, lengths, 0.13 * strength)


@jit
def _window(image: Image, row: float, column: float, lengths: NDArray[np.float64], power: float) -> Image:
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    for y in range(height):
        for x in range(width):
            light = ray_light(y - row, x - column, lengths, power)
            for c in range(3):
                out[y, x, c] = np.uint8(WHITE + light * (np.float64(image[y, x, c]) - WHITE))
    return out
