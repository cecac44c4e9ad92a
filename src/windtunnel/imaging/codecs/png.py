"""Lossless PNG."""

from __future__ import annotations

import cv2
import numpy as np

from windtunnel.core.errors import UserError
from windtunnel.core.images import Image
from windtunnel.imaging.codecs import codec

# From 0 (none) to 9 (smallest files, slowest).
COMPRESSION = 3


@codec(help="Lossless PNG files.", suffix=".png", lossless=True)
def png(image: Image) -> bytes:
    """Store as PNG."""
    return encode_by_opencv(image, ".png", (cv2.IMWRITE_PNG_COMPRESSION, COMPRESSION), "png")


def encode_by_opencv(image: Image, suffix: str, options: tuple[int, int], written: str) -> bytes:
    """An image as the content of a file that OpenCV writes."""
    done, data = cv2.imencode(suffix, cv2.cvtColor(image, cv2.COLOR_RGB2BGR), options)
    if not done:
        raise UserError(f"An image of shape {image.shape} cannot be stored as {written}.")
    return np.asarray(data).tobytes()
