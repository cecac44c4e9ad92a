"""Motion blur: a one-sided trail in a random direction within 45 degrees of the horizontal."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.motion import blur_along

ANGLES = (-45.0, 45.0)


@corruption(
    params=("radius", "sigma"),
    severities={
        224: ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15)),
        299: ((12, 4), (17, 6), (17, 9), (17, 13), (22, 16)),
        64: ((10, 1), (10, 1.5), (10, 2), (10, 2.5), (12, 3)),
        32: ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)),
    },
    imitates="A camera or a subject that moves while the shutter is open.",
    met_by="Hand-held telephones, cars, drones and sport, most of all in poor light.",
    family="blur",
    source="Hendrycks & Dietterich 2019, ImageNet-C",
    revision=1,
    golden="4c7f91211512449796200b17cbce48a6",
)
def motion_blur(image: Image, rng: Draws, *, radius: float, sigma: float) -> Image:
    """Blur along a half-Gaussian trail of 2*radius+1 steps."""
    return blur_along(image, radius, sigma, rng.uniform("angle", *ANGLES))
