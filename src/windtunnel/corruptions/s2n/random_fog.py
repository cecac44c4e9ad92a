"""Fog: white discs of low opacity, then a box blur."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.byte_tables import UNCHANGED, blended, through_chosen_tables
from windtunnel.kernels.jit import jit

DENSITIES = (0.8, 1.0)
ALPHA = 0.08
# Discs have at least this diameter.
LEAST_PX = 10
# More discs on one pixel do not count.
MOST = 255


@candidate(
    "RandomFog",
    drawn="The density, uniform from 0.8 to 1, and the places of the discs.",
    imitates="Fog, steam or smoke between the camera and the subject.",
    met_by="Cars, ships and outdoor cameras.",
    family="weather",
    min_side_px=39,
    golden="e8a81d9c323b100ff999cdf605468dfb",
)
def random_fog(image: Image, rng: Draws) -> Image:
    """Blend discs with the image one after the other, and blur the result."""
    height, width = image.shape[:2]
    density = rng.uniform("density", *DENSITIES)
    side = max(1, int(width // 3 * density))
    painted = max(side, LEAST_PX)
    radius = painted // 2
    centres = np.array([(x + radius, y + radius) for x, y in places(rng, width, height, side)], np.int64)
    covered = np.zeros((height, width), np.uint8)
    _count_discs(covered, centres.reshape(-1, 2), _half_widths(radius))
    tables = [UNCHANGED]
    for _ in range(int(covered.max())):
        tables.append(blended(tables, 255, ALPHA * density))
    blur_px = painted // 10
    foggy = through_chosen_tables(image, covered, np.stack(tables))
    return np.asarray(cv2.blur(foggy, (blur_px, blur_px)), np.uint8)


def places(rng: Draws, width: int, height: int, side: int) -> Iterator[tuple[int, int]]:
    """Corners of the squares around the discs: more discs, farther from the centre, in every round.

    A step is at least one pixel: for very long images the published rule would not end.
    """
    left, top, number = width // 2 - 2 * side, height // 2 - side, 1
    while left > -side or top > -side:
        count = side // 10 * number
        columns = rng.integers(f"columns {number}", count, left, width - left - side + 1)
        rows = rng.integers(f"rows {number}", count, top, height - top - side + 1)
        yield from zip(columns, rows, strict=True)
        left -= max(1, 3 * side * width // (height + width))
        top -= max(1, 3 * side * height // (height + width))
        number += 1


def _half_widths(radius: int) -> NDArray[np.int64]:
    """By row of OpenCV's filled circle, the distance from its middle to its last pixel."""
    disc = cv2.circle(np.zeros((2 * radius + 1, 2 * radius + 1), np.uint8), (radius, radius), radius, 1, -1)
    return np.asarray((np.count_nonzero(disc, axis=1) - 1) // 2, np.int64)


@jit
def _count_discs(
    counts: NDArray[np.uint8], centres: NDArray[np.int64], half_widths: NDArray[np.int64]
) -> None:
    """Add 1 to every pixel of every disc."""
    height, width = counts.shape
    radius = half_widths.size // 2
    for number in range(centres.shape[0]):
        x, y = centres[number]
        for row in range(max(0, y - radius), min(height, y + radius + 1)):
            reach = half_widths[row - y + radius]
            for column in range(max(0, x - reach), min(width, x + reach + 1)):
                counts[row, column] += np.uint8(counts[row, column] < MOST)
