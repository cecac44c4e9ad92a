"""Motion blur whose direction rotates."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.kernels.motion import blur_along
from windtunnel.sequences import Table, sequence


@sequence(
    type="temporal",
    params=("radius", "sigma", "step_degrees", "level"),
    tables={
        224: Table(((10, 3, 4, 30),)),
        299: Table(((13, 3, 4, 30),)),
        64: Table(((14, 3, 5, 30),), stage="source", cropped=False),
        32: Table(((6, 1.8, 9, 20),), frames=21),
    },
    imitates="A camera that shakes, a little differently in every exposure.",
    met_by="Hand-held telephones, cars and drones in poor light.",
    family="blur",
    source="Hendrycks & Dietterich 2019, ImageNet-P",
    revision=1,
    golden="d0395170970a5be8e8cfd33fe9bf4687",
    random=False,
)
def motion_blur(
    image: Image,
    rng: Draws,  # noqa: ARG001
    frames: int,
    *,
    radius: float,
    sigma: float,
    step_degrees: float,
    level: float,
) -> Iterator[Image]:
    """A half-Gaussian trail of 2*radius+1 steps, turned by a step each frame, horizontal in frame `level`."""
    for number in range(frames):
        yield blur_along(image, radius, sigma, step_degrees * (number - level))
