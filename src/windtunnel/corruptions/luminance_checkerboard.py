"""Luminance checkerboard: tiles become lighter and darker in turn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.jit import jit

RANGES = ((0, 50), (50, 100), (100, 125), (125, 150), (150, 255))


@corruption(
    params=("least", "most", "tile"),
    severities={
        edition: tuple((*levels, tile) for levels in RANGES)
        for edition, tile in ((224, 14), (299, 14), (64, 4), (32, 2))
    },
    imitates="Light and shade that change from tile to tile.",
    met_by="Out-of-distribution tests of models that were trained on web-scale data.",
    family="lighting",
    source="Li et al. 2025, LAION-C",
    revision=1,
    golden="5ac15d5154a81bb797e754c705ede9fe",
)
def luminance_checkerboard(image: Image, rng: Draws, *, least: float, most: float, tile: float) -> Image:
    """Add `least` to `most` levels to tiles whose row plus column is even, and subtract them from others."""
    height, width = image.shape[:2]
    rows, columns = -(-height // int(tile)), -(-width // int(tile))
    amounts = rng.uniforms("amounts", rows * columns, least, most).reshape(rows, columns)
    return _lit(image, amounts, int(tile))


@jit
def _lit(image: Image, amounts: NDArray[np.float64], tile: int) -> Image:
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    for y in range(height):
        for x in range(width):
            row, column = y // tile, x // tile
            change = amounts[row, column] if (row + column) % 2 == 0 else -amounts[row, column]
            for c in range(3):
                out[y, x, c] = np.uint8(min(max(np.float64(image[y, x, c]) + change, 0.0), 255.0))
    return out
