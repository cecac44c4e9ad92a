"""OpenCV's bilinear warps, for definitions that name them."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image

# Beyond the border: mirrored without the last pixel, or the last pixel repeated.
MIRRORED = cv2.BORDER_REFLECT_101
REPEATED = cv2.BORDER_REPLICATE


def warp_affine(image: Image, matrix: NDArray[np.float64], border: int = MIRRORED) -> Image:
    """The image moved by a 2x3 matrix from source to result, at its own size."""
    height, width = image.shape[:2]
    warped = cv2.warpAffine(image, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=border)
    return np.asarray(warped, np.uint8)


def remap(image: Image, x: NDArray[np.float32], y: NDArray[np.float32], border: int = MIRRORED) -> Image:
    """The image read at the column and row that two maps give for every pixel of the result."""
    return np.asarray(cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=border), np.uint8)
