"""Pinch and twirl: discs of a grid are pinched and twisted about their centres."""

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

# The published code has 5 discs along a side of 224 pixels, and 3 otherwise.
LARGE_PX, LARGE_DISCS, SMALL_DISCS = 144, 5, 3


@corruption(
    params=("strength",),
    severities=c_bar_severities("pinch_and_twirl"),
    imitates="Whirls that twist parts of the image.",
    met_by="Uneven glass, lenses of water, warped documents.",
    family="geometry",
    source=CIFAR_SOURCE,
    revision=1,
    motion="moves",
    golden="096cce4f8b11fdedb7dbb536bb814f7e",
)
def pinch_and_twirl(image: Image, rng: Draws, *, strength: float) -> Image:
    """Twist each disc by 9 degrees strength, to the left or the right, and pinch it."""
    side = min(image.shape[:2])
    cell = side // (LARGE_DISCS if side >= LARGE_PX else SMALL_DISCS)
    rows, columns = image.shape[0] // cell, image.shape[1] // cell
    turns = np.array(rng.integers("turns", rows * columns, 0, 2)).reshape(rows, columns)
    angles = np.where(turns == 1, 1.0, -1.0) * (strength / 10 * math.pi / 2)
    return _twirled(image, cell, angles, 0.04 * strength + 0.1)


@jit
def _twirled(image: Image, cell: int, angles: NDArray[np.float64], pinch: float) -> Image:
    out = image.copy()
    radius = cell / 2
    for y in range(angles.shape[0] * cell):
        for x in range(angles.shape[1] * cell):
            row, column = y // cell, x // cell
            centre_y, centre_x = row * cell + radius, column * cell + radius
            down, across = y - centre_y, x - centre_x
            distance = math.sqrt(down * down + across * across)
            if distance > radius or distance < 0.0005:
                continue
            share = distance / radius
            pull = math.sin(0.5 * math.pi * share) ** -pinch
            angle = angles[row, column] * (1 - share) ** 2
            cosine, sine = pull * math.cos(angle), pull * math.sin(angle)
            for c in range(3):
                out[y, x, c] = np.uint8(
                    level_between(
                        image,
                        centre_y + down * cosine - across * sine,
                        centre_x + down * sine + across * cosine,
                        c,
                    )
                )
    return out
