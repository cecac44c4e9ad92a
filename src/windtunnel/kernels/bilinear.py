"""Bilinear interpolation between pixels, with black outside the image."""

from __future__ import annotations

import math

import numpy as np

from windtunnel.core.images import Image
from windtunnel.kernels.jit import jit


@jit
def level_between(image: Image, y: float, x: float, channel: int) -> float:
    """The level of a channel at a place between pixels."""
    top, left = math.floor(y), math.floor(x)
    below, right = y - top, x - left
    upper = (1.0 - right) * _level(image, top, left, channel) + right * _level(image, top, left + 1, channel)
    lower = (1.0 - right) * _level(image, top + 1, left, channel)
    lower += right * _level(image, top + 1, left + 1, channel)
    return (1.0 - below) * upper + below * lower


@jit
def _level(image: Image, y: int, x: int, channel: int) -> float:
    inside = 0 <= y < image.shape[0] and 0 <= x < image.shape[1]
    return np.float64(image[y, x, channel]) if inside else 0.0
