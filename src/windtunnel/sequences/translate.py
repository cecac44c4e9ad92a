"""Translation to the right."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.kernels.warp import shift_across
from windtunnel.kernels.window import Window
from windtunnel.sequences import Table, sequence


@sequence(
    type="temporal",
    params=("step_px", "still"),
    tables={
        224: Table(((1, 20),), frames=41, clean=20, stage="resized"),
        299: Table(((1, 20),), frames=41, clean=20, stage="source"),
        64: Table(((1, 15),), clean=15),
        32: Table(((1, 7),), frames=16, clean=7),
    },
    imitates="A camera or a subject that drifts sideways.",
    met_by="Every camera that pans, conveyor belts, people walking by.",
    family="geometry",
    source="Hendrycks & Dietterich 2019, ImageNet-P",
    revision=1,
    golden="17e2ec557ce95df6e5600e2803431617",
    random=False,
)
def translate(
    image: Image,
    rng: Draws,  # noqa: ARG001
    frames: int,
    *,
    window: Window,
    step_px: float,
    still: float,
) -> Iterator[Image]:
    """Shift right by a step more in each frame, in whole pixels; none in frame `still`; filled with black."""
    for number in range(frames):
        yield shift_across(image, round(step_px * (number - still)), window)
