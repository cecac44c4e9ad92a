"""Emboss: a filter that shows edges as if lit from one side."""

from __future__ import annotations

import cv2
import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate

STRENGTHS = (0.2, 0.7)


@candidate(
    "Emboss",
    drawn="The strength, uniform from 0.2 to 0.7.",
    imitates="A relief, or an image after strong edge enhancement.",
    met_by="Embossed labels, coins, image filters.",
    family="digital",
    golden="e5b2505fc61ee18eef6c43bd52d97370",
)
def emboss(image: Image, rng: Draws) -> Image:
    """Correlate with a 3x3 kernel of the drawn strength."""
    strength = np.float32(rng.uniform("strength", *STRENGTHS))
    kernel = np.array(
        [[-1 - strength, -strength, 0], [-strength, 1, strength], [0, strength, 1 + strength]], np.float32
    )
    return np.asarray(cv2.filter2D(image, -1, kernel), np.uint8)
