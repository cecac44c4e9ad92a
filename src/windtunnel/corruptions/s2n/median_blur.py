"""Median filter."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.squares import medians

SIDES_PX = (5, 7, 9, 11)


@candidate(
    "MedianBlur",
    drawn="The side of the square: 5, 7, 9 or 11 pixels, equally likely.",
    imitates="Strong noise reduction, which smears fine structure.",
    met_by="Telephones in low light, retouched images.",
    family="blur",
    golden="3cfd4d966a8241b846d9fbb6eab5e4f9",
)
def median_blur(image: Image, rng: Draws) -> Image:
    """The median of a square around every pixel, for each channel; the border is repeated."""
    return medians(image, SIDES_PX[rng.integer("side", 0, len(SIDES_PX))])
