"""Sepia: brown tones."""

from __future__ import annotations

import cv2
import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate

MIXTURE = np.array([[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]])


@candidate(
    "ToSepia",
    imitates="An old photograph.",
    met_by="Archives, photo filters.",
    family="colour",
    golden="6203f83849995ac6fa1be5a66ba048de",
)
def to_sepia(image: Image, _rng: Draws) -> Image:
    """Mix the channels with a fixed matrix, rounded and clipped."""
    return np.asarray(cv2.transform(image, MIXTURE), np.uint8)
