"""Inverted colours."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate


@candidate(
    "InvertImg",
    imitates="A photographic negative.",
    met_by="Scanned film, and radiographs of the other polarity.",
    family="colour",
    golden="9740cd2525f69a0f3d31fb9aef106f49",
)
def invert_img(image: Image, _rng: Draws) -> Image:
    """255 minus every value."""
    return ~image
