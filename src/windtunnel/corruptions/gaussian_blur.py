"""Gaussian blur."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.gaussian import blur_bytes


@corruption(
    params=("sigma",),
    severities={
        224: ((1,), (2,), (3,), (4,), (6,)),
        299: ((1.5,), (2.5,), (3.5,), (4.5,), (6.5,)),
        64: ((0.5,), (0.75,), (1,), (1.25,), (1.5,)),
        32: ((0.4,), (0.6,), (0.7,), (0.8,), (1,)),
    },
    imitates="A smeared lens, or an image smoothed and enlarged.",
    met_by="Telephones with a greasy lens, archives of enlarged or retouched images.",
    family="blur",
    source="Hendrycks & Dietterich 2019, ImageNet-C (extra)",
    revision=2,
    golden="d3f528bd3505781e10281bc15e8524c6",
    random=False,
)
def gaussian_blur(image: Image, rng: Draws, *, sigma: float) -> Image:  # noqa: ARG001
    """Blur with a Gaussian of standard deviation sigma in pixels."""
    return blur_bytes(image, sigma)
