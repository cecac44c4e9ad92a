"""Drops of water that run down the lens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.kernels.fields import fill_normal
from windtunnel.kernels.gaussian import smooth_replicated
from windtunnel.kernels.water import run_down, wet
from windtunnel.sequences import Table, sequence

# Shares that move from a row to the row above, itself, and the two below: 1.5 and .8 pixels per frame.
FAST = (0.05, 0.1, 0.15, 0.7)
SLOW = (0.0, 0.2, 0.8, 0.0)


@sequence(
    type="temporal",
    params=("mean", "spread", "sigma", "threshold", "glow", "up", "stay", "down", "far_down"),
    tables={
        224: Table(((0.65, 0.27, 3.7, 0.69, 0.6, *FAST),)),
        299: Table(((0.65, 0.3, 4, 0.69, 0.6, *FAST),)),
        64: Table(((0.6, 0.25, 1.75, 0.7, 0.6, *SLOW),)),
        32: Table(((0.6, 0.265, 1.75, 0.7, 0.6, *SLOW),)),
    },
    imitates="Rain that runs down a lens or a windscreen.",
    met_by="Car, bicycle, drone and farm cameras in rain.",
    family="weather",
    source="Hendrycks & Dietterich 2019, ImageNet-P (validation)",
    revision=1,
    golden="a53b4c23ec3fb8b2b478d953dfbd32b9",
)
def spatter(
    image: Image,
    rng: Draws,
    frames: int,
    *,
    mean: float,
    spread: float,
    sigma: float,
    threshold: float,
    glow: float,
    up: float,
    stay: float,
    down: float,
    far_down: float,
) -> Iterator[Image]:
    """Drops where smooth noise exceeds a threshold; they run down between frames, and never dry."""
    height, width = image.shape[:2]
    field, smooth = np.empty((2, height, width))
    layer = smooth_replicated(fill_normal(field, rng.key("field"), mean, spread), sigma, smooth)
    layer = np.where(layer < threshold, 0.0, layer)
    for number in range(frames):
        if number:
            layer = run_down(layer, (up, stay, down, far_down))
        # Water that has run down stays visible, however thin: the threshold applies to the first frame only.
        yield wet(image, layer, 0.0, glow)
