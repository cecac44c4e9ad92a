"""Zoom blur: the mean of the image at increasing magnifications."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.jit import jit
from windtunnel.kernels.lines import lines
from windtunnel.kernels.zoom import zoom_axis

LARGE = ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03))
SMALL = ((1.06, 0.01), (1.11, 0.01), (1.16, 0.01), (1.21, 0.01), (1.26, 0.01))


@corruption(
    params=("end", "step"),
    severities={224: LARGE, 299: LARGE, 64: SMALL, 32: SMALL},
    imitates="A lens zoomed, or a camera moving forwards, during the exposure.",
    met_by="Dashboard and train cameras at speed, drones that climb or land, photographers of sport.",
    family="blur",
    source="Hendrycks & Dietterich 2019, ImageNet-C",
    revision=1,
    golden="b9339ed454e73c26690a17e3b451d7d4",
    random=False,
)
def zoom_blur(image: Image, rng: Draws, *, end: float, step: float) -> Image:  # noqa: ARG001
    """Average the image with its magnifications 1, 1+step, ... below `end`, in float steps."""
    height, width = image.shape[:2]
    rows, columns, flat = _grids(height, width, end, step)
    return _zoom_blur(image, *rows, *columns, flat)


Grid = tuple[NDArray[np.int64], NDArray[np.float32]]


@lru_cache(maxsize=32)
def _grids(height: int, width: int, end: float, step: float) -> tuple[Grid, Grid, NDArray[np.uint8]]:
    """For every magnification the source row and column of each pixel, and the levels of even areas."""
    factors = np.arange(1, end, step)
    grids = []
    for size in (height, width):
        axes = [zoom_axis(size, float(factor)) for factor in factors]
        index = np.stack([axis.start + axis.index for axis in axes])
        fraction = np.stack([axis.fraction for axis in axes]).astype(np.float32)
        grids.append((index, fraction))
    # A uniform area after the reference's float32 sums: sometimes one level darker.
    even = np.arange(256, dtype=np.float32) / np.float32(255)
    total = np.zeros_like(even)
    for _ in factors:
        total += even
    mean = (even + total) / np.float32(len(factors) + 1)
    return grids[0], grids[1], (np.clip(mean, 0, 1) * np.float32(255)).astype(np.uint8)


FLOAT32_MISS = np.float32(5e-4)
ONE, TWO = np.uint64(1), np.uint64(2)


@jit
def _zoom_blur(
    image: Image,
    row: NDArray[np.int64],
    row_fraction: NDArray[np.float32],
    column: NDArray[np.int64],
    column_fraction: NDArray[np.float32],
    flat: NDArray[np.uint8],
) -> Image:
    """Two magnifications at a time: fewer trips through memory, and the same order of sums."""
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    count = row.shape[0]
    share = np.float32(1.0 / (count + 1))
    starts = np.empty((count, width), np.uint64)  # unsigned: no negative index to look for
    for factor in range(count):
        for x in range(width):
            starts[factor, x] = column[factor, x] * 3
    blended, step = np.empty(width * 3, np.float32), np.empty(width * 3, np.float32)
    other, other_step = np.empty(width * 3, np.float32), np.empty(width * 3, np.float32)
    total = np.empty(width * 3, np.float32)
    sources, targets = lines(image), lines(out)
    for y in range(height):
        centre = sources[y]
        for x in range(width * 3):
            # The image itself, and its first magnification, which is 1.
            total[x] = np.float32(2) * np.float32(np.int32(centre[x]))
        for factor in range(1, count, 2):
            _blend_rows(sources, row[factor, y], row_fraction[factor, y], blended, step)
            if factor + 1 < count:
                _blend_rows(sources, row[factor + 1, y], row_fraction[factor + 1, y], other, other_step)
            else:  # nothing is left: adding black changes no sum
                for x in range(width * 3):
                    other[x], other_step[x] = np.float32(0), np.float32(0)
            second = min(factor + 1, count - 1)
            start, part = starts[factor], column_fraction[factor]
            other_start, other_part = starts[second], column_fraction[second]
            for x in range(width):
                a, b, at, p, q = start[x], other_start[x], np.uint64(x * 3), part[x], other_part[x]
                red = total[at] + (blended[a] + step[a] * p)
                green = total[at + ONE] + (blended[a + ONE] + step[a + ONE] * p)
                blue = total[at + TWO] + (blended[a + TWO] + step[a + TWO] * p)
                total[at] = red + (other[b] + other_step[b] * q)
                total[at + ONE] = green + (other[b + ONE] + other_step[b + ONE] * q)
                total[at + TWO] = blue + (other[b + TWO] + other_step[b + TWO] * q)
        target = targets[y]
        for x in range(width * 3):
            mean, level = total[x] * share, centre[x]
            even = abs(mean - np.float32(np.int32(level))) < FLOAT32_MISS
            target[x] = flat[level] if even else np.uint8(np.int32(mean))
    return out


@jit
def _blend_rows(
    sources: NDArray[np.uint8],
    row: int,
    part: np.float32,
    blended: NDArray[np.float32],
    step: NDArray[np.float32],
) -> None:
    """A row between two rows, and its steps from a pixel to the next."""
    first, second = sources[row], sources[min(row + 1, sources.shape[0] - 1)]
    for x in range(blended.size):
        above = np.float32(np.int32(first[x]))
        blended[x] = above + (np.float32(np.int32(second[x])) - above) * part
    for x in range(blended.size - 3):
        step[x] = blended[x + 3] - blended[x]
