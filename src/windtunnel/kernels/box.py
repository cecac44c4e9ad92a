"""Downscaling with Pillow's box filter: horizontal, then vertical, each rounded to bytes."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.kernels.jit import jit
from windtunnel.kernels.lines import lines

# Pillow's weights are fixed-point numbers of this many bits.
BITS = 22

Axis = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]


def shrink(image: Image, width: int, height: int) -> Image:
    """Shrink an image to width x height; columns are shrunk as rows of the transposed image."""
    narrow = cv2.transpose(_shrink_rows(cv2.transpose(image), *_axis(image.shape[1], width)))
    return _shrink_rows(np.asarray(narrow, np.uint8), *_axis(image.shape[0], height))


@lru_cache(maxsize=64)
def _axis(large: int, small: int) -> Axis:
    """For every output sample: the first source sample, the number of source samples, and their weight."""
    scale = large / small
    centre = (np.arange(small) + 0.5) * scale
    first = np.maximum((centre - scale / 2 + 0.5).astype(np.int64), 0)
    last = np.minimum((centre + scale / 2 + 0.5).astype(np.int64), large)
    count = np.empty(small, np.int64)
    for i in range(small):
        place = (np.arange(first[i], last[i]) - centre[i] + 0.5) / scale
        inside = np.flatnonzero((place > -0.5) & (place <= 0.5))
        first[i] += inside[0]
        count[i] = len(inside)
    return first, count, (0.5 + (1 << BITS) / count).astype(np.int32)


@jit
def _shrink_rows(
    image: Image, first: NDArray[np.int64], count: NDArray[np.int64], weight: NDArray[np.int32]
) -> Image:
    """Means of rows; the compiler vectorises whole rows, but not runs of columns."""
    out = np.empty((first.size, image.shape[1], 3), np.uint8)
    sources, targets = lines(image), lines(out)
    total = np.empty(sources.shape[1], np.uint32)
    half = np.uint32(1 << (BITS - 1))
    for y in range(first.size):
        total[:] = half
        share = np.uint32(weight[y])
        for i in range(first[y], first[y] + count[y]):
            source = sources[i]
            for x in range(total.size):  # truncated to 32 bits at every step: the compiler would use 64
                total[x] += np.uint32(share * np.uint32(source[x]))
        target = targets[y]
        for x in range(total.size):
            target[x] = np.uint8(total[x] >> np.uint32(BITS))
    return out
