"""Sharpening, which also darkens."""

from __future__ import annotations

import cv2
import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate

SHARES = (0.3, 0.6)
LIGHTNESSES = (0.6, 1.0)


@candidate(
    "Sharpen",
    drawn="The share of the sharpened image, uniform from 0.3 to 0.6; its lightness, uniform from 0.6 to 1.",
    imitates="An image that software has sharpened too much.",
    met_by="Telephones, scanned documents, broadcast video.",
    family="digital",
    golden="fcb9a9fda3c3d2896cf326894a2536ac",
)
def sharpen(image: Image, rng: Draws) -> Image:
    """Correlate with a mixture of the identity and a 3x3 kernel that enhances edges."""
    share = np.float32(rng.uniform("share", *SHARES))
    lightness = np.float32(rng.uniform("lightness", *LIGHTNESSES))
    kernel = np.full((3, 3), -share, np.float32)
    kernel[1, 1] = (1 - share) + share * (8 + lightness)
    return np.asarray(cv2.filter2D(image, -1, kernel), np.uint8)
