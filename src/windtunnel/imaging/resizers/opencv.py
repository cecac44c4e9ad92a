"""OpenCV: filters of a fixed width, which skip pixels when shrinking; `area` averages them."""

from __future__ import annotations

from typing import Any

import cv2

from windtunnel.core.images import Image
from windtunnel.imaging.resizers import resizer

OPENCV_FILTERS = {
    "nearest": cv2.INTER_NEAREST,
    "nearest-exact": cv2.INTER_NEAREST_EXACT,
    "bilinear": cv2.INTER_LINEAR,
    "bilinear-exact": cv2.INTER_LINEAR_EXACT,
    "bicubic": cv2.INTER_CUBIC,
    "area": cv2.INTER_AREA,
    "lanczos": cv2.INTER_LANCZOS4,
}


@resizer(
    help="OpenCV, not antialiased; area averages.",
    filters=OPENCV_FILTERS,
    library="opencv-python-headless",
    rank=2,
)
def opencv(image: Image, width: int, height: int, filter_: int) -> Any:
    """Resize with OpenCV."""
    return cv2.resize(image, (width, height), interpolation=filter_)
