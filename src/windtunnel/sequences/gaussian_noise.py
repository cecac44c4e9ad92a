"""Gaussian noise, independent in every frame."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.kernels.noise_table import apply_noise, gaussian_table
from windtunnel.sequences import Table, sequence


@sequence(
    type="noise",
    params=("sigma",),
    tables={
        224: Table(((0.03,), (0.05,), (0.08,)), clean=0),
        299: Table(((0.035,), (0.055,), (0.085,)), clean=0),
        64: Table(((0.025,), (0.05,), (0.075,)), clean=0),
        32: Table(((0.02,), (0.04,), (0.06,)), clean=0),
    },
    imitates="A camera at rest in low light: the scene stays, the grain does not.",
    met_by="Security, baby and medical cameras, video calls in dim rooms.",
    family="noise",
    source="Hendrycks & Dietterich 2019, ImageNet-P",
    revision=1,
    golden="96540ce5d8da20bcbbb63cb60e6af7ed",
)
def gaussian_noise(image: Image, rng: Draws, frames: int, *, sigma: float) -> Iterator[Image]:
    """Yield the image, then the image with normal noise of standard deviation sigma (of the full range)."""
    table = gaussian_table(sigma)
    yield image.copy()
    for number in range(1, frames):
        yield apply_noise(image, table, rng.key(f"frame {number}"))
