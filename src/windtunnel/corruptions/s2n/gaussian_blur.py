"""Gaussian blur."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.opencv_gaussian import gaussian_blurred

SIDES_PX = (9, 14)


@candidate(
    "GaussianBlur",
    drawn="The kernel size: 9 (one in five), 11 or 13 pixels (two in five each); sigma is 1.7, 2.0 or 2.3.",
    imitates="A smeared lens, or a subject out of focus.",
    met_by="Telephones with a greasy lens, archives of retouched images.",
    family="blur",
    golden="c01440e75922f262316a549c647003aa",
)
def gaussian_blur(image: Image, rng: Draws) -> Image:
    """Blur with OpenCV's Gaussian of a kernel size, whose sigma follows from the size."""
    side = rng.integer("side", *SIDES_PX) | 1  # even sizes become the next odd one
    return gaussian_blurred(image, side)
