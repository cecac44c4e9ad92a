"""Ripple: rows and columns are displaced by sine waves."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.bilinear import level_between
from windtunnel.kernels.jit import jit
from windtunnel.published.c_bar import CIFAR_SOURCE, c_bar_severities


@corruption(
    params=("strength",),
    severities=c_bar_severities("ripple"),
    imitates="A reflection in rippling water.",
    met_by="Reflections, hot air, a vibrating camera with a rolling shutter.",
    family="geometry",
    source=CIFAR_SOURCE,
    revision=1,
    motion="moves",
    golden="1696509e6058552bb92ec5f22d397331",
)
def ripple(image: Image, rng: Draws, *, strength: float) -> Image:
    """Displace along each axis by a sine with an amplitude of 0.25 % strength of the short side."""
    side = min(image.shape[:2])
    lengths = rng.uniforms("wavelengths", 2, 0.1, 0.3) * side
    phases = rng.uniforms("phases", 2, 0, 2 * math.pi)
    return _rippled(image, 0.0025 * strength * side, lengths, phases)


@jit
def _rippled(
    image: Image, amplitude: float, lengths: NDArray[np.float64], phases: NDArray[np.float64]
) -> Image:
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    columns = np.empty(width)
    for x in range(width):
        columns[x] = x + amplitude * math.sin(2 * math.pi * x / lengths[1] + phases[1])
    for y in range(height):
        row = y + amplitude * math.sin(2 * math.pi * y / lengths[0] + phases[0])
        for x in range(width):
            for c in range(3):
                out[y, x, c] = np.uint8(level_between(image, row, columns[x], c))
    return out
