"""JPEG by OpenCV, which takes images as BGR."""

from __future__ import annotations

import cv2
import numpy as np

from windtunnel.core.images import Image


def jpeg_as_bgr(image: Image, quality: int) -> Image:
    """An RGB image through JPEG as if it were BGR: luma weighs blue as red and red as blue."""
    _, stored = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.asarray(cv2.imdecode(stored, cv2.IMREAD_UNCHANGED), np.uint8)
