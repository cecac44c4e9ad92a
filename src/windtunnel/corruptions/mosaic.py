"""Mosaic: every cell of a grid becomes a small image of about its colour."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.imaging.tiles import check_tiles, tiles_by_colour
from windtunnel.imaging.tiles import tiles as tiles_of
from windtunnel.kernels.jit import jit

LARGE = ((4,), (6,), (8,), (16,), (28,))


@corruption(
    params=("tile",),
    severities={
        224: LARGE,
        299: LARGE,
        64: ((2,), (3,), (4,), (6,), (8,)),
        32: ((2,), (3,), (4,), (5,), (6,)),
    },
    imitates="A photographic mosaic: an image made of small images.",
    met_by="Out-of-distribution tests of models that were trained on web-scale data.",
    family="occlusion",
    source="Li et al. 2025, LAION-C",
    revision=1,
    golden="70662bc1f343d8d5d2eb38425df44bf6",
    random=False,
    settings=("tiles",),
    check=check_tiles,
    note=(
        "The tiles of mosaic are scenes drawn by windtunnel, LAION-C's are photographs; "
        "--set mosaic.tiles=DIR uses the images of a folder."
    ),
)
def mosaic(image: Image, rng: Draws, *, tile: float, tiles: str = "") -> Image:  # noqa: ARG001
    """Replace cells of `tile` pixels by the tile of the nearest mean colour.

    A cell's colour is that of a bicubic reduction of the image. Cells at the edges are cut off equally on
    both sides if they do not fit.
    """
    side = int(tile)
    height, width = image.shape[:2]
    rows, columns = -(-height // side), -(-width // side)
    top, left = (rows * side - height) // 2, (columns * side - width) // 2
    if rows * side != height or columns * side != width:
        bottom, right = rows * side - height - top, columns * side - width - left
        image = np.pad(image, ((top, bottom), (left, right), (0, 0)), mode="edge")
    colours = PillowImage.fromarray(image).resize((columns, rows), PillowImage.Resampling.BICUBIC)
    nearest = tiles_by_colour(tiles, side).query(np.asarray(colours, np.float64))[1]
    return _laid(np.asarray(nearest), tiles_of(tiles, side), top, left, height, width)


@jit
def _laid(
    nearest: NDArray[np.int64], tiles: NDArray[np.uint8], top: int, left: int, height: int, width: int
) -> Image:
    side = tiles.shape[1]
    out = np.empty((height, width, 3), np.uint8)
    for y in range(height):
        for x in range(width):
            tile = tiles[nearest[(y + top) // side, (x + left) // side]]
            for c in range(3):
                out[y, x, c] = tile[(y + top) % side, (x + left) % side, c]
    return out
