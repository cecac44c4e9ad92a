"""Resizers: pixels to a given size, by library and filter (`pillow-bilinear`, `opencv-area`)."""

from __future__ import annotations

import cv2
import numpy as np
from PIL import Image as PillowImage

from windtunnel.errors import unknown_name
from windtunnel.imaging import Image

PILLOW_FILTERS = {
    "nearest": PillowImage.Resampling.NEAREST,
    "box": PillowImage.Resampling.BOX,
    "bilinear": PillowImage.Resampling.BILINEAR,
    "hamming": PillowImage.Resampling.HAMMING,
    "bicubic": PillowImage.Resampling.BICUBIC,
    "lanczos": PillowImage.Resampling.LANCZOS,
}
OPENCV_FILTERS = {
    "nearest": cv2.INTER_NEAREST,
    "bilinear": cv2.INTER_LINEAR,
    "bicubic": cv2.INTER_CUBIC,
    "area": cv2.INTER_AREA,
    "lanczos": cv2.INTER_LANCZOS4,
}
RESIZERS = (*(f"pillow-{name}" for name in PILLOW_FILTERS), *(f"opencv-{name}" for name in OPENCV_FILTERS))


def resize(image: Image, width: int, height: int, resizer: str = "pillow-bilinear") -> Image:
    """Resize to exactly width x height; a picture that already has that size is returned as it is."""
    if resizer not in RESIZERS:
        raise unknown_name("resizer", resizer, RESIZERS)
    if image.shape[:2] == (height, width):
        return image
    library, filter_name = resizer.split("-", 1)
    if library == "pillow":
        picture = PillowImage.fromarray(image).resize((width, height), PILLOW_FILTERS[filter_name])
        return np.asarray(picture)
    return np.asarray(
        cv2.resize(image, (width, height), interpolation=OPENCV_FILTERS[filter_name]), dtype=np.uint8
    )
