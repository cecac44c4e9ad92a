"""Grid shuffle: 4x4 tiles change places."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate

TILES = 4


@candidate(
    "RandomGridShuffle",
    drawn="The order of the 16 tiles.",
    imitates="A torn or scrambled image.",
    met_by="Jigsaw puzzles, failed image stitching, lost video blocks.",
    family="geometry",
    motion="pieces",
    golden="09c2c9067ea3266295582a564035e73b",
)
def random_grid_shuffle(image: Image, rng: Draws) -> Image:
    """Permute the tiles of each size among themselves."""
    height, width = image.shape[:2]
    rows, columns = ([side * place // TILES for place in range(TILES + 1)] for side in (height, width))
    tiles: dict[tuple[int, int], list[tuple[slice, slice]]] = {}
    for top, bottom in pairwise(rows):
        for left, right in pairwise(columns):
            tiles.setdefault((bottom - top, right - left), []).append(
                (slice(top, bottom), slice(left, right))
            )
    shuffled = np.empty_like(image)
    for (high, wide), places in tiles.items():
        for target, source in zip(places, rng.permutation(f"{high}x{wide}", len(places)), strict=True):
            shuffled[target] = image[places[source]]
    return shuffled
