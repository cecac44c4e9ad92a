"""Single-frequency greyscale: one plane wave is added to all channels."""

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
    severities=c_bar_severities("single_frequency_greyscale"),
    imitates="Regular stripes of interference.",
    met_by="Flickering light under a rolling shutter, electrical interference, moire.",
    family="noise",
    source=SOURCE,
    revision=1,
    golden="08e74bd79d114960088a6c93020a6a42",
)
def single_frequency_greyscale(image: Image, rng: Draws, *, strength: float) -> Image:
    """Add a sine of random frequency, direction and phase with amplitude 19.6 strength."""
    larger = rng.uniform("larger frequency", -math.pi, math.pi)
    smaller = rng.uniform("smaller frequency", -abs(larger), abs(larger))
    is_steep = rng.integer("axis", 0, 2)
    across, down = (smaller, larger) if is_steep else (larger, smaller)
    return _add_wave(image, across, down, rng.uniform("phase", 0, 2 * math.pi), 19.6 * strength)


@jit
def _add_wave(image: Image, across: float, down: float, phase: float, amplitude: float) -> Image:
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    sines, cosines = np.empty(width), np.empty(width)
    for x in range(width):
        sines[x], cosines[x] = math.sin(x * across), math.cos(x * across)
    for y in range(height):
        sine = amplitude * math.sin(y * down + phase)
        cosine = amplitude * math.cos(y * down + phase)
        for x in range(width):
            wave = sines[x] * cosine + cosines[x] * sine
            for c in range(3):
                out[y, x, c] = np.uint8(min(max(np.float64(image[y, x, c]) + wave, 0.0), 255.0))
    return out
