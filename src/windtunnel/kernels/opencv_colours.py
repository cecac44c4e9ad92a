"""Images through OpenCV's 8-bit HSV and HLS and back to RGB (hue 0..179, others 0..255)."""

from __future__ import annotations

import cv2
import numpy as np

from windtunnel.core.images import Image
from windtunnel.kernels.byte_arithmetic import scale_below, shift_hsv


def shifted_in_hsv(image: Image, hue: float, saturation: float = 0.0, value: float = 0.0) -> Image:
    """Hue (in units of 2 degrees), saturation and value shifted."""
    hsv = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2HSV), np.uint8)
    return np.asarray(cv2.cvtColor(shift_hsv(hsv, hue, saturation, value), cv2.COLOR_HSV2RGB), np.uint8)


def scaled_lightness(image: Image, factor: float, below: float = 256.0) -> Image:
    """Lightness of HLS times a factor, where it is below a limit."""
    hls = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2HLS), np.uint8)
    changed = scale_below(hls, np.float32(factor), (0.0, below, 0.0))
    return np.asarray(cv2.cvtColor(changed, cv2.COLOR_HLS2RGB), np.uint8)
