"""Small scenes drawn by formula: a horizon, a shape in front of it, grain. Tiles for mosaics and stickers."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.seeding import digest64
from windtunnel.kernels.draws import word
from windtunnel.kernels.jit import jit

# Scenes along each axis of the colour cube: their mean colours cover it evenly.
SHADES = 20
SCENES = SHADES**3
# Muted scenes, as most photographs are: their red, green and blue differ by at most this many shades.
MUTED = 5
# The draws of one scene.
DRAWS = 18
# Points per side of a pixel over which a scene is averaged.
POINTS = 4
GRAIN = 10.0
KEY = digest64("scene tiles", 1)
_S11 = np.uint64(11)


@lru_cache(maxsize=16)
def scene_tiles(side_px: int) -> NDArray[np.uint8]:
    """All scenes as square tiles, the same in every process: (SCENES, side, side, 3)."""
    tiles = np.empty((SCENES, side_px, side_px, 3), np.uint8)
    _draw(np.uint64(KEY), tiles)
    tiles.flags.writeable = False
    return tiles


@lru_cache(maxsize=16)
def muted_scene_tiles(side_px: int) -> NDArray[np.uint8]:
    """The scenes without strong colours."""
    scene = np.arange(SCENES)
    shades = np.stack([scene // SHADES**c % SHADES for c in range(3)])
    muted = np.ptp(shades, axis=0) <= MUTED
    return np.asarray(scene_tiles(side_px)[muted], np.uint8)


@jit
def _draw(key: np.uint64, tiles: NDArray[np.uint8]) -> None:
    side = tiles.shape[1]
    drawn, pattern = np.empty(DRAWS), np.empty((2, side, side))
    for scene in range(tiles.shape[0]):
        for i in range(DRAWS):
            index = np.uint64(scene * DRAWS + i)
            drawn[i] = np.float64(np.int64(word(key, index) >> _S11)) * 2.0**-53
        _cover(drawn, pattern)
        means = (pattern[0].mean(), pattern[1].mean())
        grain = np.uint64(scene * side * side + tiles.shape[0] * DRAWS)
        for c in range(3):
            shade = scene // SHADES**c % SHADES
            base = (shade + drawn[c]) * 255.0 / SHADES
            # Both parts differ from the base mostly in lightness.
            ground = 70.0 * (drawn[3] - 0.5) + 40.0 * (drawn[4 + c] - 0.5)
            shape = 160.0 * (drawn[7] - 0.5) + 90.0 * (drawn[8 + c] - 0.5)
            for y in range(side):
                for x in range(side):
                    noise = (
                        np.float64(np.int64(word(key, grain + np.uint64(y * side + x)) >> _S11)) * 2.0**-53
                    )
                    value = (
                        base + ground * (pattern[0, y, x] - means[0]) + shape * (pattern[1, y, x] - means[1])
                    )
                    value += GRAIN * (noise - 0.5)
                    tiles[scene, y, x, c] = np.uint8(min(max(value, 0.0), 255.0))


@jit
def _cover(drawn: NDArray[np.float64], pattern: NDArray[np.float64]) -> None:
    """The share of each pixel on the ground, and within the shape: a disc, a rectangle or a stripe."""
    side = pattern.shape[1]
    step = 1.0 / (side * POINTS)
    tilt, horizon = 0.8 * (drawn[11] - 0.5), 0.3 + 0.4 * drawn[12]
    row, column, radius = 0.3 + 0.4 * drawn[13], 0.3 + 0.4 * drawn[14], 0.12 + 0.25 * drawn[15]
    kind = int(3 * drawn[16])
    cosine, sine = math.cos(math.pi * drawn[17]), math.sin(math.pi * drawn[17])
    for y in range(side):
        for x in range(side):
            ground, shape = 0, 0
            for i in range(POINTS):
                for j in range(POINTS):
                    v, u = (y * POINTS + i + 0.5) * step, (x * POINTS + j + 0.5) * step
                    ground += v > horizon + tilt * (u - 0.5)
                    down, across = v - row, u - column
                    if kind == 0:
                        inside = down * down + across * across < radius * radius
                    elif kind == 1:
                        turned, along = cosine * down + sine * across, cosine * across - sine * down
                        inside = abs(turned) < radius and abs(along) < 0.7 * radius
                    else:
                        inside = abs(cosine * down + sine * across) < 0.5 * radius
                    shape += inside
            pattern[0, y, x], pattern[1, y, x] = ground / POINTS**2, shape / POINTS**2
