"""Solarize: bright values are inverted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.jit import jit

THRESHOLD = np.uint8(200)


@candidate(
    "Solarize",
    imitates="Extreme overexposure of film.",
    met_by="Art prints, sensors that overflow, thermal cameras.",
    family="colour",
    golden="486d90d36c8c9b5f9fa8af0709ed5b34",
)
def solarize(image: Image, _rng: Draws) -> Image:
    """255 minus every value from 200 on."""
    out = np.empty_like(image)
    _invert_bright(image.reshape(-1), out.reshape(-1))
    return out


@jit
def _invert_bright(values: NDArray[np.uint8], out: NDArray[np.uint8]) -> None:
    for place in range(values.size):
        value = values[place]
        out[place] = value if value < THRESHOLD else np.uint8(np.uint8(255) - value)
