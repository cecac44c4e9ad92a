"""Blue noise sample: pixels where blue noise is low become black."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.spectral_noise import keep_above, spectral_noise, spread
from windtunnel.published.c_bar import SOURCE, c_bar_severities


@corruption(
    params=("strength",),
    severities=c_bar_severities("blue_noise_sample"),
    imitates="Evenly spread dead pixels.",
    met_by="Sparse sensors, stippled print, data lost in transmission.",
    family="occlusion",
    source=SOURCE,
    revision=1,
    golden="c77e782064511858275d6894ea55f84d",
)
def blue_noise_sample(image: Image, rng: Draws, *, strength: float) -> Image:
    """Keep the pixels where blue noise of standard deviation 1 is above 0.3 strength - 2.5."""
    height, width = image.shape[:2]
    noise = spectral_noise(height, width, rng.key("phases"), _blue)
    return keep_above(image, noise, (0.3 * strength - 2.5) * spread(noise))


def _blue(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    return distance
