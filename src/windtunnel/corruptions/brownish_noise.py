"""Brownish noise: coarse noise in every channel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.spectral_noise import add_noise, spectral_noise, spread
from windtunnel.published.c_bar import SOURCE, c_bar_severities


@corruption(
    params=("strength",),
    severities=c_bar_severities("brownish_noise"),
    imitates="Blotches of colour.",
    met_by="Uneven development of film, stained prints, compressed shadows.",
    family="noise",
    source=SOURCE,
    revision=1,
    golden="5237536818566732b7d60c7a0f4831f0",
)
def brownish_noise(image: Image, rng: Draws, *, strength: float) -> Image:
    """Add noise of standard deviation 6.4 strength whose amplitude falls as 1 / (frequency^2 + 1)."""
    height, width = image.shape[:2]
    noise = np.stack(
        [
            spectral_noise(height, width, rng.key(f"{channel} phases"), _brownish)
            for channel in ("red", "green", "blue")
        ]
    )
    return add_noise(image, noise, np.array([6.4 * strength / spread(plane) for plane in noise]))


def _brownish(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1 / (distance**2 + 1), np.float64)
