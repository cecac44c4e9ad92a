"""Gaussian noise: y = clip(x + N(0, sigma^2)), independent for every pixel and channel."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.noise_table import apply_noise, gaussian_table


@corruption(
    params=("sigma",),
    severities={
        224: ((0.08,), (0.12,), (0.18,), (0.26,), (0.38,)),
        299: ((0.09,), (0.13,), (0.19,), (0.27,), (0.40,)),
        64: ((0.04,), (0.08,), (0.12,), (0.15,), (0.18,)),
        32: ((0.04,), (0.06,), (0.08,), (0.09,), (0.10,)),
    },
    imitates="The grain of a sensor in low light, at high gain.",
    met_by="Night-time, indoor and medical cameras, telephones at high ISO.",
    family="noise",
    source="Hendrycks & Dietterich 2019, ImageNet-C",
    revision=1,
    golden="b2b9391efb3c07b59429ad9303e9d481",
)
def gaussian_noise(image: Image, rng: Draws, *, sigma: float) -> Image:
    """Add normal noise of standard deviation sigma (in units of the full range)."""
    return apply_noise(image, gaussian_table(sigma), rng.key("noise"))
