"""Perlin noise: turbulence of five octaves is blended with the image."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.jit import jit
from windtunnel.published.c_bar import SOURCE, c_bar_severities

# The noise repeats after this many cells.
CELLS = 256
FINEST = 16


@corruption(
    params=("strength",),
    severities=c_bar_severities("perlin_noise"),
    imitates="Drifting smoke or cloud.",
    met_by="Smoke, mist, marbled and stained surfaces.",
    family="noise",
    source=SOURCE,
    revision=1,
    golden="2ea066c8a947ac16f613f6b89b143724",
)
def perlin_noise(image: Image, rng: Draws, *, strength: float) -> Image:
    """Blend 5 % strength of grey turbulence, whose coarsest cells are a seventh of the short side."""
    steps = np.array(rng.integers("gradients", 2 * CELLS, 0, 2 * CELLS), np.float64).reshape(CELLS, 2) - CELLS
    norms = np.sqrt((steps**2).sum(axis=1, keepdims=True))
    gradients = steps / np.where(norms > 0, norms, 1)
    order = np.array(rng.permutation("cells", CELLS))
    cell = 32 * min(image.shape[:2]) / 224
    return _blend(image, gradients, order, cell, 0.05 * strength)


@jit
def _blend(
    image: Image, gradients: NDArray[np.float64], order: NDArray[np.int64], cell: float, share: float
) -> Image:
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    for y in range(height):
        for x in range(width):
            turbulence, octave = 0.0, 1
            while octave <= FINEST:
                turbulence += abs(_noise(gradients, order, octave * y / cell, octave * x / cell)) / octave
                octave *= 2
            grey = 255 * share * min(0.5 * turbulence + 0.5, 1.0)
            for c in range(3):
                out[y, x, c] = np.uint8((1 - share) * np.float64(image[y, x, c]) + grey)
    return out


@jit
def _noise(gradients: NDArray[np.float64], order: NDArray[np.int64], down: float, across: float) -> float:
    """1.5 times gradient noise at a place in cells, with Perlin's s-curve 3 t^2 - 2 t^3."""
    row, column = int(down), int(across)
    y, x = down - row, across - column
    above, below = order[row % CELLS], order[(row + 1) % CELLS]
    left, right = column % CELLS, (column + 1) % CELLS
    a = gradients[order[(above + left) % CELLS]]
    b = gradients[order[(below + left) % CELLS]]
    c = gradients[order[(above + right) % CELLS]]
    d = gradients[order[(below + right) % CELLS]]
    ease_y, ease_x = y * y * (3 - 2 * y), x * x * (3 - 2 * x)
    upper, lower = y * a[0] + x * a[1], (y - 1) * b[0] + x * b[1]
    first = upper + ease_y * (lower - upper)
    upper, lower = y * c[0] + (x - 1) * c[1], (y - 1) * d[0] + (x - 1) * d[1]
    second = upper + ease_y * (lower - upper)
    noise: float = 1.5 * (first + ease_x * (second - first))
    return noise
