"""Box blur."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.squares import means

SIDES_PX = (5, 7, 9)


@candidate(
    "Blur",
    drawn="The side of the box: 5, 7 or 9 pixels, equally likely.",
    imitates="A smeared lens, or an image smoothed by software.",
    met_by="Telephones with a greasy lens, archives of retouched images.",
    family="blur",
    golden="b50412d3d60cad6d4a321ace1c5b4a78",
)
def blur(image: Image, rng: Draws) -> Image:
    """The mean of a square around every pixel; the border is mirrored without its last pixel."""
    return means(image, SIDES_PX[rng.integer("side", 0, len(SIDES_PX))])
