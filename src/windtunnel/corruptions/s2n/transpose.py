"""A translation; the paper calls it Transpose."""

from __future__ import annotations

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.opencv_warps import warp_affine

SHIFT = 0.7


@candidate(
    "Transpose",
    drawn="The shift on each axis, uniform from -0.7 to 0.7 of the side.",
    imitates="A subject far from the centre of the image.",
    met_by="Cameras without a photographer, automatic crops.",
    family="geometry",
    note="Transpose is a translation: rows and columns are not exchanged.",
    motion="moves",
    golden="c5f5c04a56e3362065999871b435356f",
)
def transpose(image: Image, rng: Draws) -> Image:
    """Shift right and down by fractions of the sides, between pixels too."""
    height, width = image.shape[:2]
    right, down = rng.uniforms("shift", 2, -SHIFT, SHIFT)
    return warp_affine(image, np.array([[1.0, 0.0, right * width], [0.0, 1.0, down * height]]))
