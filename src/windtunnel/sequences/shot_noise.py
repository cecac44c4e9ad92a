"""Shot noise, independent in every frame."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.kernels.noise_table import apply_noise, shot_table
from windtunnel.sequences import Table, sequence


@sequence(
    type="noise",
    params=("rate",),
    tables={
        224: Table(((300,), (120,), (60,)), clean=0),
        299: Table(((250,), (100,), (50,)), clean=0),
        64: Table(((500,), (250,), (125,)), clean=0),
        32: Table(((700,), (400,), (200,)), clean=0),
    },
    imitates="A camera at rest with too few photons: every exposure counts different ones.",
    met_by="Astronomers, microscopists, security cameras at night.",
    family="noise",
    source="Hendrycks & Dietterich 2019, ImageNet-P",
    revision=1,
    golden="57acac6fb47f107d9732f500f2d7f6be",
)
def shot_noise(image: Image, rng: Draws, frames: int, *, rate: float) -> Iterator[Image]:
    """Yield the image, then the image with Poisson noise; white has an expectation of `rate` photons."""
    table = shot_table(rate)
    yield image.copy()
    for number in range(1, frames):
        yield apply_noise(image, table, rng.key(f"frame {number}"))
