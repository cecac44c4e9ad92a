"""Glitched: bands of the image are shifted, one colour channel is displaced, every second row is black."""

from __future__ import annotations

from functools import lru_cache
from random import Random

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption

LEVELS = ((2,), (4,), (5,), (8,), (10,))
# The published code glitches every image with this seed of Python's generator.
SEED = 1


@corruption(
    params=("level",),
    severities=dict.fromkeys((224, 299, 64, 32), LEVELS),
    imitates="A broken analogue video signal.",
    met_by="Out-of-distribution tests of models that were trained on web-scale data.",
    family="geometry",
    source="Li et al. 2025, LAION-C, with glitch_this",
    revision=1,
    motion="pieces",
    golden="cf365b32eac88d06498d766815517f70",
    random=False,
)
def glitched(image: Image, rng: Draws, *, level: float) -> Image:  # noqa: ARG001
    """Shift 2 level bands by up to level^2 % of the width, and one channel by up to 2 level pixels.

    As in the published images, the bands are the same for every image of a size.
    """
    height, width = image.shape[:2]
    bands, (channel, across, down) = _glitch(height, width, int(level))
    out = image.copy()
    for top, bottom, shift in bands:
        out[top:bottom] = np.roll(image[top:bottom], shift, axis=1)
    # The channel is that of the image before the bands; only its first row is shifted sideways too.
    out[:, :, channel] = np.roll(image[:, :, channel], down, axis=0)
    out[down, :, channel] = np.roll(image[0, :, channel], across)
    out[::2] = 0
    return out


@lru_cache(maxsize=64)
def _glitch(height: int, width: int, level: int) -> tuple[list[tuple[int, int, int]], tuple[int, int, int]]:
    """The bands (top, bottom, shift to the right), and the channel with its shifts across and down."""
    furthest = int(level**2 / 100 * width)
    bands = []
    for number in range(2 * level):
        draw = Random(SEED + number)
        shift = draw.randint(-furthest, furthest)
        if shift:
            top = draw.randint(0, height)
            bands.append((top, min(top + draw.randint(1, height // 4), height), shift))
    draw = Random(SEED)
    channel = draw.randint(0, 2)
    across, down = (draw.randint(-2 * level, 2 * level) for _ in range(2))
    return bands, (channel, across % width, down % height)
