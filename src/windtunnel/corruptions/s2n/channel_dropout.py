"""Channel dropout: one colour channel is black."""

from __future__ import annotations

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate


@candidate(
    "ChannelDropout",
    drawn="The channel: red, green or blue, equally likely.",
    imitates="A colour channel that is lost in transmission.",
    met_by="Analogue video, damaged cables, broken decoders.",
    family="colour",
    golden="78085f53b9192fc0350f281840ab7fb7",
)
def channel_dropout(image: Image, rng: Draws) -> Image:
    """Set one of the three channels to 0."""
    height, width = image.shape[:2]
    kept = np.full(3 * width, 255, np.uint8)
    kept[rng.integer("channel", 0, 3) :: 3] = 0
    return (image.reshape(height, -1) & kept).reshape(image.shape)
