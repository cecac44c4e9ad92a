"""Sun flare: a white glow in the upper half, and a row of small discs."""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.byte_tables import UNCHANGED, blended, through_chosen_tables

COUNTS = (6, 11)
ALPHAS = (0.05, 0.2)
COLOURS = (205, 256)
STEP_PX = 10
RADIUS_PX = 200
RINGS = 20
# Beyond these coordinates OpenCV draws nothing.
FARTHEST_PX = 2**31 - 1


@candidate(
    "RandomSunFlare",
    drawn="The place of the sun in the upper half, the direction of the row, and 6 to 10 discs in it.",
    imitates="The sun in the image, with reflections in the lens.",
    met_by="Cars driving towards a low sun, outdoor cameras.",
    family="lighting",
    golden="6613867367da2cad5fc1a501b1f353de",
)
def random_sun_flare(image: Image, rng: Draws) -> Image:
    """Blend the discs with the image one after the other, then the rings of the glow."""
    height, width = image.shape[:2]
    slope = math.tan(2 * math.pi * rng.uniform("angle"))
    centre = int(width * rng.uniform("column")), int(height * rng.uniform("row", 0.0, 0.5))
    flared = with_discs(image, rng, slope, centre)
    rings = np.full((height, width), RINGS, np.uint8)
    for number in reversed(range(RINGS)):
        cv2.circle(rings, centre, ring_radii()[number], number, -1)
    return through_chosen_tables(flared, rings, _ring_tables())


def with_discs(image: Image, rng: Draws, slope: float, centre: tuple[int, int]) -> Image:
    """Draw the small discs; each is blended together with all earlier ones.

    Only pixels of discs change, so that only these are blended.
    """
    height, width = image.shape[:2]
    count = rng.integer("count", *COUNTS)
    alphas = rng.uniforms("alphas", count, *ALPHAS)
    columns = rng.integers("columns", count, 0, -(-width // STEP_PX))
    roots = rng.integers("radii", count, 1, max(height // 100 - 2, 2) + 1)
    colours = np.array(rng.integers("colours", 3 * count, *COLOURS)).reshape(count, 3)
    discs = []
    for column, root, colour in zip(columns, roots, colours.tolist(), strict=True):
        x = STEP_PX * column
        y = int(2 * centre[1] - (slope * (x - centre[0]) + centre[1]))
        discs.append(((x, y), root**3, colour) if abs(y) <= FARTHEST_PX else None)
    touched = np.zeros((height, width), np.uint8)
    for drawn in filter(None, discs):
        cv2.circle(touched, drawn[0], drawn[1], 1, -1)
    pixels = np.flatnonzero(touched)
    flared, overlay = image.copy(), image.copy()
    if not pixels.size:
        return flared
    values = flared.reshape(-1, 3)[pixels]
    for disc, alpha in zip(discs, alphas, strict=True):
        if disc:
            cv2.circle(overlay, *disc, -1)
            values = cv2.addWeighted(overlay.reshape(-1, 3)[pixels], alpha, values, 1 - alpha, 0)
    flared.reshape(-1, 3)[pixels] = values
    return flared


@lru_cache(maxsize=1)
def ring_radii() -> tuple[int, ...]:
    """The radii of the rings, from the centre outwards."""
    return tuple(int(radius) for radius in np.linspace(1, RADIUS_PX, RINGS))


@lru_cache(maxsize=1)
def _ring_tables() -> NDArray[np.uint8]:
    """By the first ring that covers a pixel, its blends with white by that ring and all larger ones."""
    alphas = np.linspace(0, 1, RINGS)[::-1] ** 3
    rows = []
    for first in range(RINGS):
        tables = [UNCHANGED]
        for alpha in alphas[first:]:
            tables.append(blended(tables, 255, float(alpha)))
        rows.append(tables[-1])
    return np.stack([*rows, UNCHANGED])
