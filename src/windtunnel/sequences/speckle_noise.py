"""Speckle noise, independent in every frame."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.kernels.noise_table import apply_noise, speckle_table
from windtunnel.sequences import Table, sequence


@sequence(
    type="noise",
    params=("sigma",),
    tables={
        224: Table(((0.05,), (0.1,), (0.15,)), clean=0),
        299: Table(((0.06,), (0.11,), (0.16,)), clean=0),
        64: Table(((0.05,), (0.1,), (0.15,)), clean=0),
        32: Table(((0.05,), (0.07,), (0.1,)), clean=0),
    },
    imitates="Interference that flickers: the brighter, the more.",
    met_by="Ultrasound, radar, sonar and laser imaging.",
    family="noise",
    source="Hendrycks & Dietterich 2019, ImageNet-P (validation)",
    revision=1,
    golden="59d91ed7cc3e7245c1f13dc7d685d0d7",
)
def speckle_noise(image: Image, rng: Draws, frames: int, *, sigma: float) -> Iterator[Image]:
    """Yield the image, then the image with normal noise of standard deviation sigma times the value."""
    table = speckle_table(sigma)
    yield image.copy()
    for number in range(1, frames):
        yield apply_noise(image, table, rng.key(f"frame {number}"))
