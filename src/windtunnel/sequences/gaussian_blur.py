"""Gaussian blur that widens."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.kernels.gaussian import blur_bytes
from windtunnel.sequences import Table, sequence


@sequence(
    type="temporal",
    params=("first", "step", "truncate"),
    tables={
        224: Table(((0.25, 0.035, 6),)),
        299: Table(((0.35, 0.035, 6),)),
        64: Table(((0.35, 0.014, 7),)),
        32: Table(((0.3, 0.015, 7),)),
    },
    imitates="Focus that drifts, or a lens that fogs up.",
    met_by="Telephones coming in from the cold, cameras that hunt for focus.",
    family="blur",
    source="Hendrycks & Dietterich 2019, ImageNet-P (validation)",
    revision=1,
    golden="5c1ccf6193d6b6a60dfb9c7140e727bc",
    random=False,
)
def gaussian_blur(
    image: Image,
    rng: Draws,  # noqa: ARG001
    frames: int,
    *,
    first: float,
    step: float,
    truncate: float,
) -> Iterator[Image]:
    """A standard deviation of `first` pixels and a step more in each frame, cut at `truncate` of them."""
    for number in range(frames):
        yield blur_bytes(image, first + step * number, truncate)
