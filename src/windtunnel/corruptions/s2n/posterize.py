"""Posterize: two bits for every channel."""

from __future__ import annotations

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate

KEPT_BITS = np.uint8(0xC0)


@candidate(
    "Posterize",
    imitates="An image with very few colours.",
    met_by="Screen prints, animations, old graphics cards.",
    family="digital",
    golden="dcb52248f27697434955bb89b21da889",
)
def posterize(image: Image, _rng: Draws) -> Image:
    """Keep the two highest bits: values 0, 64, 128 and 192."""
    return image & KEPT_BITS
