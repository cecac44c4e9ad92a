"""Perspective: the image seen from an angle, zoomed in."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.jit import jit

SPREADS = (0.1, 0.3)
# A shorter side of the quadrilateral is widened to this.
LEAST_PX = 2


@candidate(
    "Perspective",
    drawn="The spread of the corners, uniform from 0.1 to 0.3 of the sides; and the four corners.",
    imitates="A flat subject seen from an angle.",
    met_by="Signs, documents and screens photographed in passing.",
    family="geometry",
    motion="moves",
    golden="f4ca2f49c2d5d30ce7a9e5919a6e5a6f",
)
def perspective(image: Image, rng: Draws) -> Image:
    """Move the four corners inwards, and warp the quadrilateral to the whole image."""
    height, width = image.shape[:2]
    spread = rng.uniform("spread", *SPREADS)
    jitter = np.array(rng.normals("corners", 8, spread), np.float32).reshape(4, 2)
    corners = np.empty((4, 2), np.float32)
    wide, high = quadrilateral(jitter, width, height, corners)
    ends = np.array([[0, 0], [wide, 0], [wide, high], [0, high]], np.float32)
    warped = cv2.warpPerspective(image, cv2.getPerspectiveTransform(corners, ends), (wide, high))
    if (wide, high) != (width, height):
        shrinks = height > high or width > wide
        way = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
        warped = cv2.resize(warped, (width, height), interpolation=way)
    return np.asarray(warped, np.uint8)


@jit
def quadrilateral(
    jitter: NDArray[np.float32], width: int, height: int, corners: NDArray[np.float32]
) -> tuple[int, int]:
    """Fill in the corners top left, top right, bottom right, bottom left; returns the size to warp to.

    As published, corners are named by their sums and differences, so that one may serve twice.
    """
    points, one = np.abs(jitter) % np.float32(1), np.float32(1)
    points[1, 0], points[2, 0] = one - points[1, 0], one - points[2, 0]
    points[2, 1], points[3, 1] = one - points[2, 1], one - points[3, 1]
    points[:, 0] *= np.float32(width)
    points[:, 1] *= np.float32(height)
    sums, differences = points[:, 0] + points[:, 1], points[:, 1] - points[:, 0]
    corners[0], corners[1] = points[sums.argmin()], points[differences.argmin()]
    corners[2], corners[3] = points[sums.argmax()], points[differences.argmax()]
    wide = _widened(corners, 0, (0, 1, 3, 2))
    high = _widened(corners, 1, (0, 3, 1, 2))
    return wide, high


@jit
def _widened(corners: NDArray[np.float32], axis: int, ends: tuple[int, int, int, int]) -> int:
    """The longer of two opposite edges in whole pixels; too short ones are widened along the axis.

    `ends` are the lower and the upper end of one edge, then of the other.
    """
    while True:
        first, second = _length(corners, ends[0], ends[1]), _length(corners, ends[2], ends[3])
        least = int(min(first, second))
        if least >= LEAST_PX:
            return int(max(first, second))
        step = np.float32((LEAST_PX - least) / 2)
        for place in range(2):
            corners[ends[2 * place], axis] -= step
            corners[ends[2 * place + 1], axis] += step


@jit
def _length(corners: NDArray[np.float32], start: int, end: int) -> float:
    across = np.float64(corners[start, 0]) - np.float64(corners[end, 0])
    down = np.float64(corners[start, 1]) - np.float64(corners[end, 1])
    return math.sqrt(across * across + down * down)
