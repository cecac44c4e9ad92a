"""Snow whose direction of fall rotates."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.kernels.motion import blur_along
from windtunnel.kernels.snowfall import draw_flakes, lay_flakes, whiten
from windtunnel.sequences import Table, sequence

LARGE = Table(((0.05, 0.3, 3, 0.5, 14, 4, 0.85, -150, 4),))


@sequence(
    type="temporal",
    params=(
        "mean",
        "spread",
        "zoom",
        "threshold",
        "radius",
        "sigma",
        "keep",
        "first_degrees",
        "step_degrees",
    ),
    tables={
        224: LARGE,
        299: LARGE,
        64: Table(((0.05, 0.28, 2, 0.5, 10, 2.5, 0.85, -150, 4),)),
        32: Table(((0.05, 0.3, 2, 0.5, 10, 2, 0.85, -150, 4),)),
    },
    imitates="Snowfall in gusts of wind.",
    met_by="Cars, trains, ski slopes and outdoor cameras in winter.",
    family="weather",
    source="Hendrycks & Dietterich 2019, ImageNet-P",
    revision=1,
    golden="5819c301b235cfa4617d939818c02ab6",
)
def snow(
    image: Image,
    rng: Draws,
    frames: int,
    *,
    mean: float,
    spread: float,
    zoom: float,
    threshold: float,
    radius: float,
    sigma: float,
    keep: float,
    first_degrees: float,
    step_degrees: float,
) -> Iterator[Image]:
    """Add one layer of flakes to the whitened image; their trails rotate by a step more in each frame."""
    height, width = image.shape[:2]
    flakes = draw_flakes(rng.key("field"), height, width, mean, spread, zoom, threshold)
    whitened = whiten(image, keep)
    for number in range(frames):
        angle = first_degrees + step_degrees * number
        yield lay_flakes(whitened, blur_along(flakes, radius, sigma, angle, exact=True))
