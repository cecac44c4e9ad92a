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
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    count = row.shape[0]
    share = np.float32(1.0 / (count + 1))
    blended = np.empty(width * 3, np.float32)
    step = np.empty(width * 3 - 3, np.float32)  # from a pixel to the next
    total = np.empty(width * 3, np.float32)
    sources, targets = lines(image), lines(out)
    for y in range(height):
        centre = sources[y]
        for x in range(width * 3):
            # The image itself, and its first magnification, which is 1.
            total[x] = np.float32(2) * np.float32(centre[x])
        for factor in range(1, count):
            first = sources[row[factor, y]]
            second = sources[min(row[factor, y] + 1, height - 1)]
            part = row_fraction[factor, y]
            for x in range(width * 3):
                above = np.float32(first[x])
                blended[x] = above + (np.float32(second[x]) - above) * part
            for x in range(step.size):
                step[x] = blended[x + 3] - blended[x]
            index = column[factor]
            across = column_fraction[factor]
            for x in range(width):
                left, at = (
                    np.uint64(index[x] * 3),
                    np.uint64(x * 3),
                )  # unsigned: no negative index to look for
                part = across[x]
                total[at] += blended[left] + step[left] * part
                total[at + ONE] += blended[left + ONE] + step[left + ONE] * part
                total[at + TWO] += blended[left + TWO] + step[left + TWO] * part
        target = targets[y]
        for x in range(width * 3):
            mean = total[x] * share
            if abs(mean - np.float32(centre[x])) < FLOAT32_MISS:
                target[x] = flat[centre[x]]
            else:
                target[x] = np.uint8(mean)
    return out
