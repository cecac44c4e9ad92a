"""Downscale: shrunk and enlarged again, nearest neighbour."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.jit import jit
from windtunnel.kernels.lines import lines

SCALE = 0.45


@candidate(
    "Downscale",
    imitates="An enlarged thumbnail.",
    met_by="Web pages, digital zoom, small sensors.",
    family="digital",
    golden="37912b67999eb381a27ba7e9dc1f7a66",
)
def downscale(image: Image, _rng: Draws) -> Image:
    """Resize to 45 % and back without interpolation."""
    height, width = image.shape[:2]
    return _picked(image, _sources(height), _sources(width))


@lru_cache(maxsize=64)
def _sources(side_px: int) -> NDArray[np.int64]:
    """The row or column of the image that OpenCV's resizing there and back leaves at each place."""
    places = np.arange(side_px, dtype=np.int32)[:, None]
    small = cv2.resize(places, None, fx=1, fy=SCALE, interpolation=cv2.INTER_NEAREST)
    back = cv2.resize(small, (1, side_px), interpolation=cv2.INTER_NEAREST)
    return np.asarray(back, np.int64).reshape(-1)


@jit
def _picked(image: Image, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Image:
    out = np.empty(image.shape, np.uint8)
    sources, targets = lines(image), lines(out)
    for y in range(rows.size):
        if y and rows[y] == rows[y - 1]:
            targets[y] = targets[y - 1]
            continue
        source, target = sources[rows[y]], targets[y]
        for x in range(columns.size):
            place, pixel = 3 * x, 3 * columns[x]
            target[place] = source[pixel]
            target[place + 1] = source[pixel + 1]
            target[place + 2] = source[pixel + 2]
    return out
