"""Solarize: bright values are inverted."""

from __future__ import annotations

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.byte_tables import LEVELS, through_table

THRESHOLD = 200
TABLE = np.where(LEVELS < THRESHOLD, LEVELS, 255 - LEVELS).astype(np.uint8)


@candidate(
    "Solarize",
    imitates="Extreme overexposure of film.",
    met_by="Art prints, sensors that overflow, thermal cameras.",
    family="colour",
    golden="486d90d36c8c9b5f9fa8af0709ed5b34",
)
def solarize(image: Image, _rng: Draws) -> Image:
    """255 minus every value from 200 on."""
    return through_table(image, TABLE)
