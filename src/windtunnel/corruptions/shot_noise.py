"""Shot noise: y = clip(Poisson(x * rate) / rate), independent for every pixel and channel."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

from windtunnel.corruptions import corruption
from windtunnel.imaging import Image
from windtunnel.kernels.noise_table import LEVELS, alias_table, apply_noise
from windtunnel.seeding import Draws


@corruption(
    params=("rate",),
    severities={
        224: ((60,), (25,), (12,), (5,), (3,)),
        299: ((50,), (20,), (10,), (5,), (3,)),
        64: ((250,), (100,), (50,), (30,), (15,)),
        32: ((500,), (250,), (100,), (75,), (50,)),
    },
    imitates="Too few photons: a short exposure in the dark.",
    met_by="Astronomers, microscopists, security cameras at night, sport in dim halls.",
    family="noise",
    source="Hendrycks & Dietterich 2019, ImageNet-C",
    revision=1,
    golden="e82d9fa8a99b4b0ea5f679ed9d4d6ad2",
)
def shot_noise(image: Image, rng: Draws, *, rate: float) -> Image:
    """Count photons: full white expects `rate` of them."""
    return apply_noise(image, _table(rate), rng.key("noise"))


@lru_cache(maxsize=32)
def _table(rate: float) -> NDArray[np.uint32]:
    # From rate photons on the output is white, so that one more column holds the whole tail.
    counts = np.arange(int(np.ceil(rate)))
    output = (np.clip(counts / rate, 0, 1) * 255).astype(np.uint8)
    matrix = np.zeros((LEVELS, LEVELS))
    for value in range(LEVELS):
        expected = value / 255 * rate
        np.add.at(matrix[value], output, poisson.pmf(counts, expected))
        matrix[value, 255] += poisson.sf(counts[-1], expected)
    return alias_table(matrix)
