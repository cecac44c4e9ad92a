"""Flip: mirrored, upside down, or both."""

from __future__ import annotations

import cv2
import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate


@candidate(
    "Flip",
    drawn="The direction: left to right, upside down, or both, equally likely.",
    imitates="A mirror, or a camera that is mounted upside down.",
    met_by="Front cameras of telephones, drones, microscopes.",
    family="geometry",
    motion="moves",
    golden="7460e64edf6a44d704905eb0e86b2633",
)
def flip(image: Image, rng: Draws) -> Image:
    """Reverse rows, columns or both."""
    return np.asarray(cv2.flip(image, rng.integer("direction", -1, 2)), np.uint8)
