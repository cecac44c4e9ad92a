"""Defocus blur: correlation with a disc, slightly softened."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.correlate import LayeredKernel, correlate, layered_kernel

# Up to this radius the reference draws the disc on one fixed grid, -8..8.
FIXED_GRID_RADIUS = 8


@corruption(
    params=("radius", "softness"),
    severities={
        224: ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)),
        299: ((4, 0.1), (5, 0.5), (7, 0.5), (10, 0.5), (12, 0.5)),
        64: ((0.5, 0.6), (1, 0.1), (1.5, 0.1), (2.5, 0.01), (3, 0.1)),
        32: ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)),
    },
    imitates="A lens that is not focused on the subject.",
    met_by="Telephones too close to their subject, fixed-focus cameras, microscopes.",
    family="blur",
    source="Hendrycks & Dietterich 2019, ImageNet-C",
    revision=2,
    golden="98ccf6a2d6639901556a017b8a0a0fdd",
    random=False,
)
def defocus_blur(image: Image, rng: Draws, *, radius: float, softness: float) -> Image:  # noqa: ARG001
    """Blur with a disc of a radius in pixels, its edge softened by a Gaussian of sigma `softness`."""
    return correlate(image, _disc_layers(radius, softness))


@lru_cache(maxsize=32)
def _disc_layers(radius: float, softness: float) -> LayeredKernel:
    side = _softening_side(radius)
    taps = np.asarray(cv2.getGaussianKernel(side, softness, cv2.CV_32F), np.float32)[side // 2 :, 0]
    return layered_kernel(disc_kernel(radius, softness), _disc(radius), taps)


def disc_kernel(radius: float, softness: float) -> NDArray[np.float32]:
    """The reference's disc, float32 throughout.

    Its sum exceeds 1 where the disc touches the edge of its grid (radius 8 and 10 at edition 224):
    the softening reflects at that edge. Normalising it would remove a brightening the reference has.
    """
    side = _softening_side(radius)
    disc = _disc(radius).astype(np.float32)
    disc /= np.sum(disc)
    return np.asarray(cv2.GaussianBlur(disc, (side, side), softness), dtype=np.float32)


def _disc(radius: float) -> NDArray[np.bool_]:
    reach = FIXED_GRID_RADIUS if radius <= FIXED_GRID_RADIUS else int(radius)
    axis = np.arange(-reach, reach + 1)
    return np.asarray(axis[:, None] ** 2 + axis[None, :] ** 2 <= radius**2)


def _softening_side(radius: float) -> int:
    return 3 if radius <= FIXED_GRID_RADIUS else 5
