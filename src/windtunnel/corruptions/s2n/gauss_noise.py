"""Gaussian noise, independent for every pixel and channel."""

from __future__ import annotations

import math

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.whole_noise import add_gaussian

# Of values from 0 to 255: standard deviations of 22 to 32.
VARIANCES = (500.0, 1000.0)


@candidate(
    "GaussNoise",
    drawn="The variance, uniform from 500 to 1000 (of values from 0 to 255); and the noise.",
    imitates="The grain of a sensor in low light.",
    met_by="Night-time and indoor cameras, telephones at high ISO.",
    family="noise",
    note="GaussNoise darkens by half a grey level: sums are truncated, not rounded.",
    golden="54cf97cc4d79dabf0574f79ee0134abf",
)
def gauss_noise(image: Image, rng: Draws) -> Image:
    """Add normal noise of the drawn variance, clip and truncate."""
    return add_gaussian(image, math.sqrt(rng.uniform("variance", *VARIANCES)), rng.key("noise"))
