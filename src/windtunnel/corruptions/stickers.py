"""Stickers: small images are pasted over the image, at random places."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.imaging.tiles import check_tiles, sticker_tiles
from windtunnel.kernels.jit import jit

COUNTS = (100, 200, 400, 600, 1200)


@corruption(
    params=("count", "side", "edition_side"),
    severities={
        224: tuple((count, 16, 224) for count in COUNTS),
        299: tuple((count, 16, 224) for count in COUNTS),
        64: tuple((count, 5, 64) for count in COUNTS),
        32: tuple((count, 2, 32) for count in COUNTS),
    },
    imitates="Stickers that cover the image.",
    met_by="Out-of-distribution tests of models that were trained on web-scale data.",
    family="occlusion",
    source="Li et al. 2025, LAION-C",
    revision=1,
    golden="b30732cf2aa7aa2b43c0f78f7cdb4875",
    settings=("tiles",),
    check=check_tiles,
    note=(
        "The stickers are scenes drawn by windtunnel, LAION-C's are photographs; "
        "--set stickers.tiles=DIR uses the images of a folder."
    ),
)
def stickers(
    image: Image, rng: Draws, *, count: float, side: float, edition_side: float, tiles: str = ""
) -> Image:
    """Paste square stickers, the later over the earlier.

    `count` holds for images of the edition's size; others get as many for the same area.
    """
    height, width = image.shape[:2]
    number = round(count * height * width / edition_side**2)
    library = sticker_tiles(tiles, int(side))
    return _pasted(
        image,
        library,
        np.array(rng.integers("tiles", number, 0, len(library))),
        np.array(rng.integers("rows", number, 0, height - int(side))),
        np.array(rng.integers("columns", number, 0, width - int(side))),
    )


@jit
def _pasted(
    image: Image,
    tiles: NDArray[np.uint8],
    chosen: NDArray[np.int64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
) -> Image:
    side = tiles.shape[1]
    out = image.copy()
    for number in range(chosen.size):
        tile = tiles[chosen[number]]
        for y in range(side):
            for x in range(side):
                for c in range(3):
                    out[rows[number] + y, columns[number] + x, c] = tile[y, x, c]
    return out
