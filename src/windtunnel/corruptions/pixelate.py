"""Pixelate: downscaling and upscaling, both with a box filter."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.box import shrink


@corruption(
    params=("factor",),
    severities={
        224: ((0.6,), (0.5,), (0.4,), (0.3,), (0.25,)),
        299: ((0.5,), (0.4,), (0.3,), (0.25,), (0.2,)),
        64: ((0.9,), (0.8,), (0.7,), (0.6,), (0.5,)),
        32: ((0.95,), (0.9,), (0.85,), (0.75,), (0.65,)),
    },
    imitates="An enlarged thumbnail, or a digital zoom.",
    met_by="Web thumbnails, digital zoom, people far away from a security camera.",
    family="digital",
    source="Hendrycks & Dietterich 2019, ImageNet-C",
    revision=1,
    golden="0c0b56eb1cf0bdc002e68f52dca19c70",
    random=False,
)
def pixelate(image: Image, rng: Draws, *, factor: float) -> Image:  # noqa: ARG001
    """Shrink both sides to int(side * factor) and back."""
    height, width = image.shape[:2]
    small = shrink(image, int(width * factor), int(height * factor))
    # Whole rows are copied faster than single pixels: columns are repeated as rows of the transposed image.
    wide = cv2.transpose(cv2.transpose(small).take(_box_sources(small.shape[1], width), axis=0))
    return np.asarray(wide.take(_box_sources(small.shape[0], height), axis=0), np.uint8)


@lru_cache(maxsize=64)
def _box_sources(small: int, large: int) -> NDArray[np.int64]:
    """The source index of each pixel of a box enlargement: the pixel that contains its centre."""
    return ((np.arange(large) + 0.5) * (small / large)).astype(np.int64)
