"""Coarse dropout: small black squares."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate

COUNTS = (16, 49)
SIDE_PX = 8


@candidate(
    "CoarseDropout",
    drawn="The number of squares, 16 to 48, and the place of each.",
    imitates="Dirt on the lens, or blocks lost in transmission.",
    met_by="Outdoor cameras, digital video over a poor connection.",
    family="occlusion",
    golden="e9f0f55b432c0f269e394e11e27321f0",
)
def coarse_dropout(image: Image, rng: Draws) -> Image:
    """Blacken squares of 8x8 pixels; they lie inside the image and may overlap."""
    height, width = image.shape[:2]
    count = rng.integer("count", *COUNTS)
    tops = rng.integers("rows", count, 0, height - SIDE_PX + 1)
    lefts = rng.integers("columns", count, 0, width - SIDE_PX + 1)
    holed = image.copy()
    for top, left in zip(tops, lefts, strict=True):
        holed[top : top + SIDE_PX, left : left + SIDE_PX] = 0
    return holed
