"""Shot noise: y = clip(Poisson(x * rate) / rate), independent for every pixel and channel."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.noise_table import apply_noise, shot_table


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
    return apply_noise(image, shot_table(rate), rng.key("noise"))
