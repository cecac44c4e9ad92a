"""Speckle noise: y = clip(x + x * N(0, sigma^2)), independent for every pixel and channel."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.noise_table import apply_noise, speckle_table


@corruption(
    params=("sigma",),
    severities={
        224: ((0.15,), (0.20,), (0.35,), (0.45,), (0.60,)),
        299: ((0.16,), (0.21,), (0.36,), (0.46,), (0.61,)),
        64: ((0.15,), (0.20,), (0.25,), (0.30,), (0.35,)),
        32: ((0.06,), (0.10,), (0.12,), (0.16,), (0.20,)),
    },
    imitates="Interference in radar, sonar or laser light: the brighter, the noisier.",
    met_by="Radar, sonar, ultrasound and laser imaging.",
    family="noise",
    source="Hendrycks & Dietterich 2019, ImageNet-C (extra)",
    revision=1,
    golden="bb18107c2199784bcea1112d34b3568b",
)
def speckle_noise(image: Image, rng: Draws, *, sigma: float) -> Image:
    """Add normal noise of standard deviation sigma times the value itself."""
    return apply_noise(image, speckle_table(sigma), rng.key("noise"))
