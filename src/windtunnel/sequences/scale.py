"""Scaling: the image grows from frame to frame."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.kernels.warp import AffineWarp, about_centre
from windtunnel.kernels.window import Window
from windtunnel.sequences import Table, sequence


@sequence(
    type="temporal",
    params=("first_percent", "step_percent"),
    tables={
        224: Table(((40, 2.5),), clean=24, stage="resized"),
        299: Table(((40, 2.5),), clean=24),
        64: Table(((40, 2.5),), clean=24),
        32: Table(((70, 2),), clean=15),
    },
    imitates="A camera that comes nearer, or zooms in.",
    met_by="Robots, drones, car cameras, anyone who walks up to something.",
    family="geometry",
    source="Hendrycks & Dietterich 2019, ImageNet-P",
    revision=1,
    golden="2bd620ad209842dd68f2bcb0ed4aff70",
    random=False,
)
def scale(
    image: Image,
    rng: Draws,  # noqa: ARG001
    frames: int,
    *,
    window: Window,
    first_percent: float,
    step_percent: float,
) -> Iterator[Image]:
    """Scale about the centre to `first_percent`, and a step more in each frame; black outside."""
    height, width = image.shape[:2]
    warp = AffineWarp(image, window)
    for number in range(frames):
        yield warp(about_centre(width, height, scale=(first_percent + step_percent * number) / 100))
