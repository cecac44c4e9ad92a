"""Contrast about black: every value times one factor."""

from __future__ import annotations

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.byte_arithmetic import scale_and_shift

FACTORS = (-0.5, 2.5)


@candidate(
    "RandomContrast",
    drawn="The factor, uniform from -0.5 to 2.5.",
    imitates="Under- and overexposure, up to an image that is wholly black.",
    met_by="Cameras with a wrong exposure, and a closed lens cap.",
    family="lighting",
    note="RandomContrast makes one image in six black: its factor is negative there.",
    golden="5552b13ba57196dc0e16084555d3048e",
)
def random_contrast(image: Image, rng: Draws) -> Image:
    """Multiply by the factor in float32, clip and truncate."""
    factor = np.float32(rng.uniform("factor", *FACTORS))
    return scale_and_shift(image, factor, np.float32(0))
