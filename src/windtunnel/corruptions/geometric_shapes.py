"""Geometric shapes: small triangles, squares, stars and circles cover the image."""

from __future__ import annotations

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.shape_stamps import DEGREES, stamped

COUNTS = (150, 300, 600, 800, 1000)


@corruption(
    params=("count", "least", "most", "edition_side"),
    severities={
        224: tuple((count, 6, 15, 224) for count in COUNTS),
        299: tuple((count, 6, 15, 224) for count in COUNTS),
        64: tuple((count, 2, 4, 64) for count in COUNTS),
        32: tuple((count, 1, 2, 32) for count in COUNTS),
    },
    imitates="Confetti in front of the scene.",
    met_by="Out-of-distribution tests of models that were trained on web-scale data.",
    family="occlusion",
    source="Li et al. 2025, LAION-C",
    revision=1,
    golden="17adc38e4a7f637a83d9606cc513c9c0",
)
def geometric_shapes(
    image: Image, rng: Draws, *, count: float, least: float, most: float, edition_side: float
) -> Image:
    """Paint shapes of `least` to `most` pixels in random colours at random places; stars are rotated.

    `count` holds for images of the edition's size; others get as many for the same area.
    """
    height, width = image.shape[:2]
    number = round(count * height * width / edition_side**2)
    places = [rng.integers("rows", number, 0, height), rng.integers("columns", number, 0, width)]
    return stamped(
        image,
        rng.integers("shapes", number, 0, 4),
        rng.integers("sizes", number, int(least), int(most) + 1),
        rng.integers("degrees", number, 0, DEGREES),
        np.array(places).T,
        np.array(rng.integers("colours", 3 * number, 0, 256), np.uint8).reshape(number, 3),
    )
