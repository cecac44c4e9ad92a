"""Rotation by any angle."""

from __future__ import annotations

import math

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.opencv_warps import warp_affine

ANGLE = 180.0


@candidate(
    "Rotate",
    drawn="The angle, uniform from -180 to 180 degrees.",
    imitates="A camera or a subject that is turned.",
    met_by="Satellites, microscopes, conveyor belts.",
    family="geometry",
    motion="moves",
    golden="017654f26587d6a931ccb34223f23be1",
)
def rotate(image: Image, rng: Draws) -> Image:
    """Rotate counter-clockwise about (width / 2, height / 2)."""
    height, width = image.shape[:2]
    angle = math.radians(rng.uniform("angle", -ANGLE, ANGLE))
    cos, sin = math.cos(angle), math.sin(angle)
    x, y = width / 2, height / 2
    matrix = np.array([[cos, sin, (1 - cos) * x - sin * y], [-sin, cos, sin * x + (1 - cos) * y]])
    return warp_affine(image, matrix)
