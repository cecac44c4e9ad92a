"""Perspective: the image seen from an angle, zoomed in."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate

SPREADS = (0.1, 0.3)
# A shorter side of the quadrilateral is widened to this.
LEAST_PX = 2


@candidate(
    "Perspective",
    drawn="The spread of the corners, uniform from 0.1 to 0.3 of the sides; and the four corners.",
    imitates="A flat subject seen from an angle.",
    met_by="Signs, documents and screens photographed in passing.",
    family="geometry",
    golden="f4ca2f49c2d5d30ce7a9e5919a6e5a6f",
)
def perspective(image: Image, rng: Draws) -> Image:
    """Move the four corners inwards, and warp the quadrilateral to the whole image."""
    height, width = image.shape[:2]
    spread = rng.uniform("spread", *SPREADS)
    jitter = np.array(rng.normals("corners", 8, spread), np.float32).reshape(4, 2)
    corners, size = quadrilateral(jitter, width, height)
    wide, high = size
    ends = np.array([[0, 0], [wide, 0], [wide, high], [0, high]], np.float32)
    warped = cv2.warpPerspective(image, cv2.getPerspectiveTransform(corners, ends), size)
    if (wide, high) != (width, height):
        shrinks = height > high or width > wide
        way = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
        warped = cv2.resize(warped, (width, height), interpolation=way)
    return np.asarray(warped, np.uint8)


def quadrilateral(
    jitter: NDArray[np.float32], width: int, height: int
) -> tuple[NDArray[np.float32], tuple[int, int]]:
    """The corners top left, top right, bottom right and bottom left, and the width and height to warp to.

    As published, corners are named by their sums and differences, so that one may serve twice.
    """
    inwards = np.mod(np.abs(jitter), 1).astype(np.float32)
    inwards[[1, 2], 0] = 1 - inwards[[1, 2], 0]
    inwards[[2, 3], 1] = 1 - inwards[[2, 3], 1]
    points = inwards * np.array([width, height], np.float32)
    sums, differences = points[:, 0] + points[:, 1], points[:, 1] - points[:, 0]
    order = [sums.argmin(), differences.argmin(), sums.argmax(), differences.argmax()]
    corners = points[order]
    wide = _widened(corners, axis=0, edges=((1, 0), (2, 3)), lower=(0, 3))
    high = _widened(corners, axis=1, edges=((1, 2), (0, 3)), lower=(0, 1))
    return corners, (wide, high)


def _widened(
    corners: NDArray[np.float32], axis: int, edges: tuple[tuple[int, int], ...], lower: tuple[int, int]
) -> int:
    """The longer of two opposite edges in whole pixels; too short ones are widened along the axis."""
    upper = [corner for corner in range(4) if corner not in lower]
    while True:
        lengths = [float(np.sqrt(((corners[a] - corners[b]) ** 2).sum())) for a, b in edges]
        least = int(min(lengths))
        if least >= LEAST_PX:
            return int(max(lengths))
        step = np.float32((LEAST_PX - least) / 2)
        corners[list(lower), axis] -= step
        corners[upper, axis] += step
