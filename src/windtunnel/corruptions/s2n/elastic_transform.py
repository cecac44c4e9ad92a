"""Elastic transform: a random affine map, then a very smooth field of displacements."""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.fields import fill_uniform
from windtunnel.kernels.opencv_warps import REPEATED, remap, warp_affine
from windtunnel.kernels.scratch import scratch

MOVE_PX = 50.0
SIGMA_PX, RADIUS_PX = 50, 200
# Waves that the Gaussian filter reduces below this share are left out: they move no pixel by 1e-5.
LEAST_SHARE = 1e-9


@candidate(
    "ElasticTransform",
    drawn="The moves of three points, uniform from -50 to 50 pixels on each axis; a field of displacements.",
    imitates="A view through moving water, or a print on cloth.",
    met_by="Labels on bottles, flags, scanned pages.",
    family="geometry",
    note="ElasticTransform is an affine map in effect: its elastic part moves pixels by about 0.01.",
    motion="moves",
    golden="b4ea6bb59e4a431bec82c13a4badd1ef",
)
def elastic_transform(image: Image, rng: Draws) -> Image:
    """Move three points, warp, then displace every pixel by filtered noise."""
    height, width = image.shape[:2]
    reach, x, y = min(height, width) // 3, height // 2, width // 2  # the axes are swapped, as published
    points = np.array([[x + reach, y + reach], [x + reach, y - reach], [x - reach, y - reach]], np.float32)
    moved = points + rng.uniforms("moves", 6, -MOVE_PX, MOVE_PX).reshape(3, 2)
    warped = warp_affine(image, cv2.getAffineTransform(points, moved.astype(np.float32)), REPEATED)
    across = np.arange(width, dtype=np.float32) + displacement(rng.key("columns"), height, width)
    down = np.arange(height, dtype=np.float32)[:, None] + displacement(rng.key("rows"), height, width)
    return remap(warped, across, down, REPEATED)


def displacement(key: int, height: int, width: int) -> NDArray[np.float32]:
    """Uniform noise from -1 to 1, Gaussian filtered; the border is mirrored with its last pixel.

    Such a filter scales the cosine waves that are symmetric about the border, and few of them remain.
    """
    noise = fill_uniform(scratch("displacement", (height, width), np.float32), key, 1.0).astype(np.float64)
    (rows, row_shares), (columns, column_shares) = _waves(height), _waves(width)
    strengths = rows @ noise @ columns.T * np.outer(row_shares, column_shares)
    return (rows.T @ strengths @ columns).astype(np.float32)


@lru_cache(maxsize=8)
def _waves(side_px: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cosine waves of length 1 along a side, and the share of each that the filter leaves."""
    offsets = np.arange(-RADIUS_PX, RADIUS_PX + 1)
    weights = np.exp(-0.5 * (offsets / SIGMA_PX) ** 2)
    weights /= weights.sum()
    count = side_px / (math.pi * SIGMA_PX) * math.sqrt(-2 * math.log(LEAST_SHARE))
    numbers = np.arange(min(math.ceil(count) + 1, side_px))[:, None]
    waves = np.cos(math.pi * numbers * (np.arange(side_px) + 0.5) / side_px) * math.sqrt(2 / side_px)
    waves[0] = math.sqrt(1 / side_px)
    return waves, np.cos(math.pi * numbers * offsets / side_px) @ weights
