"""Optical distortion: a barrel or a pincushion, off centre."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.jit import jit
from windtunnel.kernels.opencv_warps import remap

STRENGTH = 4.0
SHIFT_PX = 4.0


@candidate(
    "OpticalDistortion",
    drawn="The strength, uniform from -4 to 4; and a shift of up to 4 pixels on each axis.",
    imitates="A fisheye lens, or a lens of the opposite kind.",
    met_by="Action cameras, door viewers, borescopes.",
    family="geometry",
    note="OpticalDistortion repeats or turns over content in the corners for strengths below -0.36.",
    motion="moves",
    golden="149e94364146950e90b2dae2a4549fc4",
)
def optical_distortion(image: Image, rng: Draws) -> Image:
    """Read pixels at a radius times 1 + k r^2 + k r^4, with r in units of the sides."""
    height, width = image.shape[:2]
    strength = float(np.float32(rng.uniform("strength", -STRENGTH, STRENGTH)))
    right, down = (round(rng.uniform(axis, -SHIFT_PX, SHIFT_PX)) for axis in ("columns", "rows"))
    x, y = np.empty((height, width), np.float32), np.empty((height, width), np.float32)
    fill_maps(strength, float(right), float(down), x, y)
    return remap(image, x, y)


@jit
def fill_maps(
    strength: float, right: float, down: float, x: NDArray[np.float32], y: NDArray[np.float32]
) -> None:
    """Source columns and rows; the two centres differ by half a pixel, as published."""
    height, width = x.shape
    for row in range(height):
        v = (row - (height - 1) / 2) / height
        for column in range(width):
            u = (column - (width - 1) / 2) / width
            square = u * u + v * v
            factor = 1.0 + strength * square + strength * square * square
            x[row, column] = np.float32(width * u * factor + width / 2 + right)
            y[row, column] = np.float32(height * v * factor + height / 2 + down)
