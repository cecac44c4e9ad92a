"""Grid distortion: strips of rows and columns, stretched or squeezed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.opencv_warps import remap

STEPS = 5
FACTORS = (0.0, 2.0)


@candidate(
    "GridDistortion",
    drawn="A factor for each fifth of the width and of the height, uniform from 0 to 2.",
    imitates="A curved mirror, or a scan in which the paper moved.",
    met_by="Scanners, rolling shutters, curved screens.",
    family="geometry",
    motion="moves",
    golden="b850750850c6370c01a37db40546e6f2",
)
def grid_distortion(image: Image, rng: Draws) -> Image:
    """Read rows and columns at places that are linear within each fifth of a side."""
    height, width = image.shape[:2]
    x = stretched(width, rng.uniforms("columns", STEPS + 1, *FACTORS))
    y = stretched(height, rng.uniforms("rows", STEPS + 1, *FACTORS))
    across = np.empty((height, width), np.float32)
    down = np.empty((height, width), np.float32)
    across[:], down[:] = x, y[:, None]
    return remap(image, across, down)


def stretched(side_px: int, factors: NDArray[np.float64]) -> NDArray[np.float32]:
    """The source position of every row or column: a factor for each fifth, and the rest up to the edge."""
    step = side_px // STEPS
    places = np.empty(side_px, np.float32)
    reached = 0.0
    for number, factor in enumerate(factors):
        first, last = number * step, min((number + 1) * step, side_px)
        end = float(side_px) if (number + 1) * step > side_px else reached + step * factor
        places[first:last] = np.linspace(reached, end, last - first)
        reached = end
    return places
