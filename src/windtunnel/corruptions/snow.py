"""Snow: a whitened image and falling flakes, made of thresholded noise with motion blur."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.motion import blur_along
from windtunnel.kernels.snowfall import draw_flakes, snow_over

ANGLES = (-135.0, -45.0)

LARGE = (
    (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
    (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
    (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
    (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
    (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
)


@corruption(
    params=("mean", "spread", "zoom", "threshold", "radius", "sigma", "keep"),
    severities={
        224: LARGE,
        299: LARGE,
        64: (
            (0.1, 0.2, 1, 0.6, 8, 3, 0.8),
            (0.1, 0.2, 1, 0.5, 10, 4, 0.8),
            (0.15, 0.3, 1.75, 0.55, 10, 4, 0.7),
            (0.25, 0.3, 2.25, 0.6, 12, 6, 0.65),
            (0.3, 0.3, 1.25, 0.65, 14, 12, 0.6),
        ),
        32: (
            (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
            (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
            (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
            (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
            (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
        ),
    },
    imitates="Snowfall, with the bright grey light that comes with it.",
    met_by="Cars, trains, ski slopes and outdoor cameras in winter.",
    family="weather",
    source="Hendrycks & Dietterich 2019, ImageNet-C",
    revision=1,
    golden="08d5b50160738d26b7faa4cbf506afc7",
)
def snow(
    image: Image,
    rng: Draws,
    *,
    mean: float,
    spread: float,
    zoom: float,
    threshold: float,
    radius: float,
    sigma: float,
    keep: float,
) -> Image:
    """Whiten the image and add noise that is magnified, thresholded and motion-blurred."""
    height, width = image.shape[:2]
    flakes = draw_flakes(rng.key("field"), height, width, mean, spread, zoom, threshold)
    angle = rng.uniform("angle", *ANGLES)
    return snow_over(image, blur_along(flakes, radius, sigma, angle, exact=True), keep)
