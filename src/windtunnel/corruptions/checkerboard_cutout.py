"""Checkerboard cutout: grey squares on some fields of a rotated checkerboard."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.jit import jit
from windtunnel.published.c_bar import SOURCE, c_bar_severities

GREY = 128


@corruption(
    params=("strength",),
    severities=c_bar_severities("checkerboard_cutout"),
    imitates="Patches that hide parts of the scene.",
    met_by="Fences, grilles and labels in front of the scene, lost blocks of a video.",
    family="occlusion",
    source=SOURCE,
    revision=1,
    golden="4a30ac90309d713accd27f03973c6d23",
)
def checkerboard_cutout(image: Image, rng: Draws, *, strength: float) -> Image:
    """Make 10 % strength of a checkerboard's dark fields grey; fields are 10 to 25 % of the short side."""
    height, width = image.shape[:2]
    field = max(rng.uniform("field", 0.1, 0.25) * min(height, width), 1.0)
    angle = rng.uniform("angle", 0, 2 * math.pi)
    fields = int(4 * max(height, width) // field)
    is_cut = rng.uniforms("fields", fields * fields).reshape(fields, fields) < strength / 10
    return _cut(image, math.cos(angle), math.sin(angle), field, is_cut)


@jit
def _cut(image: Image, cosine: float, sine: float, field: float, is_cut: NDArray[np.bool_]) -> Image:
    """Fields are numbered from zero in all four directions: the two next to zero share a number."""
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    for y in range(height):
        for x in range(width):
            row, column = (cosine * y + sine * x) / field, (cosine * x - sine * y) / field
            is_dark = math.floor(row) % 2 == math.floor(column) % 2
            if is_dark and is_cut[int(row), int(column)]:
                for c in range(3):
                    out[y, x, c] = GREY
            else:
                for c in range(3):
                    out[y, x, c] = image[y, x, c]
    return out
