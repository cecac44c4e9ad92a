"""Contrast: every channel is scaled towards its mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.jit import jit
from windtunnel.kernels.lines import lines

USUAL = ((0.4,), (0.3,), (0.2,), (0.1,), (0.05,))


@corruption(
    params=("factor",),
    severities={224: USUAL, 299: USUAL, 64: USUAL, 32: ((0.75,), (0.5,), (0.4,), (0.3,), (0.15,))},
    imitates="Flat light, haze on the lens, a washed-out print.",
    met_by="Cameras in haze, backlight or dusk, endoscopes, scanners of faded prints.",
    family="digital",
    source="Hendrycks & Dietterich 2019, ImageNet-C",
    revision=1,
    golden="7f03515a5db6b67d927b1fdc2f8d9cfe",
    random=False,
)
def contrast(image: Image, rng: Draws, *, factor: float) -> Image:  # noqa: ARG001
    """y = clip((x - mean) * factor + mean), mean over the image, channel by channel."""
    return _towards_mean(image, factor)


# Fractional bits of the fixed-point function below: 255 levels of them fit 32 bits.
BITS = np.int32(22)
ONE = 1 << 22


@jit
def _towards_mean(image: Image, factor: float) -> Image:
    """Put every channel through its table of 256 levels, by arithmetic where that gives the same.

    A table is a linear function truncated to whole levels. If a fixed-point function reproduces all its 256
    entries, it replaces the table: the compiler vectorises arithmetic, but not lookups.
    """
    height, width = image.shape[:2]
    table = _tables(_channel_sums(image), height * width, factor)
    slope = np.int32(np.rint(factor * ONE))
    offsets = np.empty(width * 3, np.int32)
    exact = True
    for channel in range(3):
        least, most = -ONE * 256, ONE * 256
        for level in range(256):  # the function's offset must be in [least, most)
            offset = table[channel, level] * ONE - slope * level
            least, most = max(least, offset), min(most, offset + ONE)
        exact = exact and least < most
        for x in range(channel, width * 3, 3):
            offsets[x] = least
    out = np.empty((height, width, 3), np.uint8)
    sources, targets = lines(image), lines(out)
    for y in range(height):
        source, target = sources[y], targets[y]
        if exact:
            for x in range(width * 3):  # truncated to 32 bits at every step: the compiler would use 64
                target[x] = np.uint8(np.int32(np.int32(slope * np.int32(source[x])) + offsets[x]) >> BITS)
        else:
            for x in range(width * 3):
                target[x] = table[x % 3, source[x]]
    return out


@jit
def _channel_sums(image: Image) -> NDArray[np.int64]:
    """The sum of each channel: column by column first, which the compiler vectorises."""
    sources = lines(image)
    columns = np.zeros(sources.shape[1], np.uint32)
    for y in range(sources.shape[0]):
        source = sources[y]
        for x in range(columns.size):
            columns[x] += np.uint32(source[x])
    sums = np.zeros(3, np.int64)
    for x in range(columns.size):
        sums[x % 3] += columns[x]
    return sums


@jit
def _tables(sums: NDArray[np.int64], pixels: int, factor: float) -> NDArray[np.uint8]:
    """The output of each level in each channel."""
    table = np.empty((3, 256), np.uint8)
    for channel in range(3):
        mean = sums[channel] / 255.0 / pixels
        for level in range(256):
            value = (level / 255.0 - mean) * factor + mean
            table[channel, level] = np.uint8(min(max(value, 0.0), 1.0) * 255.0)
    return table
