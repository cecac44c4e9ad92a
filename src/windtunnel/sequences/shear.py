"""Shear that increases from frame to frame."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.kernels.warp import AffineWarp, about_centre
from windtunnel.kernels.window import Window
from windtunnel.sequences import Table, sequence


@sequence(
    type="temporal",
    params=("step_degrees", "still"),
    tables={
        224: Table(((1, 15),), clean=15, stage="resized"),
        299: Table(((1, 15),), clean=15, stage="source"),
        64: Table(((1, 15),), clean=15),
        32: Table(((1, 15),), clean=15),
    },
    imitates="Rows read one after another while the camera moves sideways.",
    met_by="Rolling shutters in cars, trains and telephones.",
    family="geometry",
    source="Hendrycks & Dietterich 2019, ImageNet-P (validation)",
    revision=1,
    golden="6fd2b76bd5abe68de086c2b75be761ee",
    random=False,
)
def shear(
    image: Image,
    rng: Draws,  # noqa: ARG001
    frames: int,
    *,
    window: Window,
    step_degrees: float,
    still: float,
) -> Iterator[Image]:
    """Shear the vertical axis by a step more in each frame (keeping its length); frame `still` is upright."""
    height, width = image.shape[:2]
    warp = AffineWarp(image, window)
    for number in range(frames):
        yield warp(about_centre(width, height, shear_degrees=step_degrees * (number - still)))
