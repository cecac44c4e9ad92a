"""Gamma: a power law that darkens."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.byte_tables import LEVELS, through_table, truncated

# Gamma from 3 to 10.
HUNDREDTHS = (300, 1001)


@candidate(
    "RandomGamma",
    drawn="Gamma, 3.00 to 10.00 in steps of 0.01.",
    imitates="A very dark scene, or a display with a wrong gamma.",
    met_by="Night-time cameras, badly set displays.",
    family="lighting",
    note="RandomGamma only darkens: at gamma 10 all values below 147 become black.",
    golden="9adfda95964db7ad0fcd5af0cbf2a61a",
)
def random_gamma(image: Image, rng: Draws) -> Image:
    """Raise values in units of the full range to the power gamma, and truncate."""
    return through_table(image, _tables()[rng.integer("gamma", *HUNDREDTHS) - HUNDREDTHS[0]])


@cache
def _tables() -> NDArray[np.uint8]:
    """One table for each gamma: all of them take less time than a few images."""
    gammas = np.arange(*HUNDREDTHS)[:, None] / 100
    return truncated(255 * np.power(LEVELS * (1 / 255), gammas))
