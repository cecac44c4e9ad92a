"""Border: a black frame around the centre of the image."""

from __future__ import annotations

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate

# The published sizes: the central 130 of 224 pixels remain.
KEPT_PX, OF_PX = 130, 224


@candidate(
    "Border",
    imitates="A letterbox, a window or a tube around the subject.",
    met_by="Embedded videos, endoscopes, screenshots.",
    family="occlusion",
    note="Border keeps the image's size and the central 130/224 of each side; the published code gives "
    "224x224 pixels.",
    motion="moves",
    golden="05ac229df306aa3dc72fbbcd6a6da9f6",
)
def border(image: Image, _rng: Draws) -> Image:
    """Blacken everything outside the central 130/224 of each side."""
    top, bottom = _kept(image.shape[0])
    left, right = _kept(image.shape[1])
    framed = np.zeros_like(image)
    framed[top:bottom, left:right] = image[top:bottom, left:right]
    return framed


def _kept(side_px: int) -> tuple[int, int]:
    """The first kept row or column, and the one after the last."""
    kept = round(side_px * KEPT_PX / OF_PX)
    first = (side_px - kept) // 2
    return first, first + kept
