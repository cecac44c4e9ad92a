"""Concentric sine waves: wavy rings are added to all channels."""

from __future__ import annotations

import math

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.jit import jit
from windtunnel.published.c_bar import SOURCE, c_bar_severities


@corruption(
    params=("strength",),
    severities=c_bar_severities("cocentric_sine_waves"),
    imitates="Wavy rings of interference.",
    met_by="Moire on screens, ripples on water, Newton's rings in scans.",
    family="noise",
    source=SOURCE,
    revision=1,
    golden="bd9005c79d11ea22d4b3ee3440cbb74e",
)
def cocentric_sine_waves(image: Image, rng: Draws, *, strength: float) -> Image:
    """Add sawtooth rings of height 12.8 strength around a random centre, whose radius is a sine of angle."""
    height, width = image.shape[:2]
    longest = min(height, width) / 10
    return _add_rings(
        image,
        rng.uniform("row", 0, height),
        rng.uniform("column", 0, width),
        rng.uniform("frequency", 0, 10),
        rng.uniform("amplitude", 0, longest),
        rng.uniform("ring width", 0, longest),
        12.8 * strength,
    )


@jit
def _add_rings(
    image: Image, row: float, column: float, frequency: float, amplitude: float, ring: float, amount: float
) -> Image:
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    for y in range(height):
        for x in range(width):
            down, across = y - row, x - column
            wave = amplitude * math.sin(math.atan2(across, down) * frequency)
            turns = (math.sqrt(across * across + down * down) + wave) / ring
            noise = amount * (turns - math.floor(turns) - 0.5)
            for c in range(3):
                out[y, x, c] = np.uint8(min(max(np.float64(image[y, x, c]) + noise, 0.0), 255.0))
    return out
