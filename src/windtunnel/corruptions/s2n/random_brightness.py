"""Brightness: a constant is added."""

from __future__ import annotations

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.byte_arithmetic import shift_bytes

SHIFT = 0.9


@candidate(
    "RandomBrightness",
    drawn="The shift, uniform from -0.9 to 0.9 of the full range.",
    imitates="Strong under- and overexposure.",
    met_by="Cameras with a wrong exposure, night and glare.",
    family="lighting",
    note="RandomBrightness can erase an image: shifts reach 90 % of the full range.",
    golden="86b24c3afa35cfe415a15ca9ea08c3d1",
)
def random_brightness(image: Image, rng: Draws) -> Image:
    """Add the shift in float32, clip and truncate."""
    return shift_bytes(image, np.float32(255 * rng.uniform("shift", -SHIFT, SHIFT)))
