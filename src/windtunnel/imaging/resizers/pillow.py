"""Pillow: filters that are widened when shrinking."""

from __future__ import annotations

import numpy as np
from PIL import Image as PillowImage

from windtunnel.core.images import Image
from windtunnel.imaging.resizers import resizer

PILLOW_FILTERS = {
    "nearest": PillowImage.Resampling.NEAREST,
    "box": PillowImage.Resampling.BOX,
    "bilinear": PillowImage.Resampling.BILINEAR,
    "hamming": PillowImage.Resampling.HAMMING,
    "bicubic": PillowImage.Resampling.BICUBIC,
    "lanczos": PillowImage.Resampling.LANCZOS,
}


@resizer(
    help="Pillow, antialiased when it shrinks; nearest is not.",
    filters=PILLOW_FILTERS,
    library="pillow",
    rank=1,
)
def pillow(image: Image, width: int, height: int, filter_: PillowImage.Resampling) -> Image:
    """Resize with Pillow."""
    return np.asarray(PillowImage.fromarray(image).resize((width, height), filter_))
