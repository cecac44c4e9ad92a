"""Impulse noise: coloured salt and pepper, independent for every channel of every pixel."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.noise_table import LEVELS, alias_table, apply_noise


@corruption(
    params=("amount",),
    severities={
        224: ((0.03,), (0.06,), (0.09,), (0.17,), (0.27,)),
        299: ((0.04,), (0.07,), (0.10,), (0.18,), (0.28,)),
        64: ((0.01,), (0.02,), (0.05,), (0.08,), (0.14,)),
        32: ((0.01,), (0.02,), (0.03,), (0.05,), (0.07,)),
    },
    imitates="Dead and hot sensor elements, or bits lost in transmission.",
    met_by="Old sensors, cameras near heat or radiation, analogue and radio video links.",
    family="noise",
    source="Hendrycks & Dietterich 2019, ImageNet-C",
    revision=1,
    golden="ba5a86da94392d3b0cbc19652a2e8c72",
)
def impulse_noise(image: Image, rng: Draws, *, amount: float) -> Image:
    """Replace a share of all values, half of them by black and half by white."""
    return apply_noise(image, _table(amount), rng.key("noise"))


@lru_cache(maxsize=32)
def _table(amount: float) -> NDArray[np.uint32]:
    matrix = np.eye(LEVELS) * (1 - amount)
    matrix[:, 0] += amount / 2
    matrix[:, -1] += amount / 2
    return alias_table(matrix)
