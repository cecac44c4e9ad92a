"""Sparkles: five white stars of light."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.jit import jit
from windtunnel.kernels.sparkle_rays import WHITE, ray_light
from windtunnel.published.c_bar import SOURCE, c_bar_severities

STARS = 5
LEAST_RAYS, MOST_RAYS = 50, 200


@corruption(
    params=("strength",),
    severities=c_bar_severities("sparkles"),
    imitates="Point lights that dazzle the camera.",
    met_by="Headlights at night, glitter, reflections on water and chrome.",
    family="lighting",
    source=SOURCE,
    revision=1,
    golden="02897d951b79e58c299c0002c612fdf1",
)
def sparkles(image: Image, rng: Draws, *, strength: float) -> Image:
    """Lay five stars over each other, with radii of 1 % of the short side times strength."""
    height, width = image.shape[:2]
    radius = 0.01 * strength * min(height, width)
    rows, columns = rng.uniforms("rows", STARS, 0, height), rng.uniforms("columns", STARS, 0, width)
    counts = rng.integers("rays", STARS, LEAST_RAYS, MOST_RAYS)
    lengths = np.ones((STARS, MOST_RAYS))
    for star, count in enumerate(counts):
        normals = np.array(rng.normals(f"lengths {star}", count))
        lengths[star, :count] = np.maximum(1, radius + 0.25 * radius * normals)
    return _sparkle(image, rows, columns, lengths, np.array(counts))


@jit
def _sparkle(
    image: Image,
    rows: NDArray[np.float64],
    columns: NDArray[np.float64],
    lengths: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> Image:
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    for y in range(height):
        for x in range(width):
            dark = 1.0
            for star in range(rows.size):
                dark *= 1.0 - ray_light(y - rows[star], x - columns[star], lengths[star, : counts[star]], 1.0)
            for c in range(3):
                out[y, x, c] = np.uint8(WHITE - dark * (WHITE - np.float64(image[y, x, c])))
    return out
