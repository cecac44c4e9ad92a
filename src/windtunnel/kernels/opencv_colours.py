"""OpenCV's 8-bit HSV and HLS: channels through tables, and back to RGB (hue 0..179, others 0..255)."""

from __future__ import annotations

import cv2
import numpy as np

from windtunnel.core.images import Image
from windtunnel.kernels.byte_tables import LEVELS, UNCHANGED, Table, through_tables

HUES = 180


def through_hsv(image: Image, hue: Table, saturation: Table = UNCHANGED, value: Table = UNCHANGED) -> Image:
    """Hue, saturation and value through a table each."""
    hsv = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2HSV), np.uint8)
    return np.asarray(cv2.cvtColor(through_tables(hsv, hue, saturation, value), cv2.COLOR_HSV2RGB), np.uint8)


def hue_table(shift: float) -> Table:
    """Hues turned by a shift, in units of 2 degrees, without their fraction."""
    return np.asarray(np.mod(LEVELS + shift, HUES), np.uint8)


def through_lightness(image: Image, lightness: Table) -> Image:
    """Lightness of HLS through a table."""
    hls = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2HLS), np.uint8)
    changed = through_tables(hls, UNCHANGED, lightness, UNCHANGED)
    return np.asarray(cv2.cvtColor(changed, cv2.COLOR_HLS2RGB), np.uint8)
