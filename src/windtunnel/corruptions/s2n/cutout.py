"""Cutout: one large black square."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate

SIDE_PX = 150


@candidate(
    "Cutout",
    drawn="The centre of the square, uniform over the image.",
    imitates="An object in front of the subject.",
    met_by="Street scenes, shelves, surgery.",
    family="occlusion",
    min_side_px=151,
    golden="c6332ffa98668165d11691a5b44cf5ce",
)
def cutout(image: Image, rng: Draws) -> Image:
    """Blacken a square of 150 pixels; the bottom and the right edge cut it, the others push it inside."""
    height, width = image.shape[:2]
    top, left = (
        max(rng.integer(axis, 0, side + 1) - SIDE_PX // 2, 0)
        for axis, side in (("row", height), ("column", width))
    )
    cut = image.copy()
    cut[top : top + SIDE_PX, left : left + SIDE_PX] = 0
    return cut
