"""Brightness that increases from dark to light."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.kernels.colour import join_value, split_value
from windtunnel.sequences import Table, sequence


@sequence(
    type="temporal",
    params=("step", "still"),
    tables={
        224: Table(((0.02, 15),)),
        299: Table(((0.02, 15),)),
        64: Table(((0.02, 15),)),
        32: Table(((0.015, 15),)),
    },
    imitates="Light that comes and goes, or exposure that adapts.",
    met_by="Cars in tunnels and avenues, cameras under passing clouds.",
    family="weather",
    source="Hendrycks & Dietterich 2019, ImageNet-P",
    revision=1,
    golden="3fff425b8b5bd7beab65f2ec2466c695",
    random=False,
)
def brightness(
    image: Image,
    rng: Draws,  # noqa: ARG001
    frames: int,
    *,
    step: float,
    still: float,
) -> Iterator[Image]:
    """Shift the V channel of HSV by a step more in each frame; frame `still` is not shifted."""
    values, shares = split_value(image)
    for number in range(frames):
        yield join_value(values, shares, step * (number - still))
