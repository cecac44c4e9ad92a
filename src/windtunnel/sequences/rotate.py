"""Clockwise rotation."""

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
    imitates="A camera that rolls, or an object that turns in the image.",
    met_by="Telephones, drones, action cameras, document scanners.",
    family="geometry",
    source="Hendrycks & Dietterich 2019, ImageNet-P",
    revision=1,
    golden="bbcdd0345ae71d4b3a9696090bec0973",
    random=False,
)
def rotate(
    image: Image,
    rng: Draws,  # noqa: ARG001
    frames: int,
    *,
    window: Window,
    step_degrees: float,
    still: float,
) -> Iterator[Image]:
    """Rotate about the centre by a step more in each frame; frame `still` is upright; black outside."""
    height, width = image.shape[:2]
    warp = AffineWarp(image, window)
    for number in range(frames):
        yield warp(about_centre(width, height, degrees=step_degrees * (number - still)))
