"""OpenCV's imdecode."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from windtunnel.core.errors import ImageError
from windtunnel.imaging.decoders import Size, decoder
from windtunnel.imaging.header import Header


@decoder(
    help="OpenCV's imdecode.",
    library="opencv-python-headless",
    turns=("TIFF",),  # despite IMREAD_IGNORE_ORIENTATION
    rank=2,
)
def opencv(data: bytes, _header: Header, _at_least: Size) -> Any:
    """Decode by OpenCV, channels in the order RGB."""
    flags = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION
    image = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    if image is None:
        raise ImageError("unreadable", "opencv: cannot decode this image")
    return image
