"""Glass blur: blurred, its pixels smeared over their neighbours, blurred again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.corruptions import corruption
from windtunnel.imaging import Image
from windtunnel.kernels.draws import word
from windtunnel.kernels.gaussian import blur_bytes
from windtunnel.kernels.jit import jit
from windtunnel.seeding import Draws

_S32 = np.uint64(32)
_LOW_32 = np.uint64(0xFFFFFFFF)


@corruption(
    params=("sigma", "reach_px", "passes"),
    severities={
        224: ((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2)),
        299: ((0.8, 1, 3), (1, 3, 1), (1.1, 2, 4), (1.2, 4, 2), (1.6, 5, 2)),
        64: ((0.1, 1, 1), (0.5, 1, 1), (0.6, 1, 2), (0.7, 2, 1), (0.9, 2, 2)),
        32: ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)),
    },
    imitates="A frosted or ribbed pane before the lens.",
    source="Hendrycks & Dietterich 2019, ImageNet-C",
    revision=2,
    golden="fbd520b1611a9402b8ade2570870c9cd",
)
def glass_blur(image: Image, rng: Draws, *, sigma: float, reach_px: float, passes: float) -> Image:
    """Blur, copy every pixel from a random neighbour up to reach_px away in so many passes, blur again."""
    work = blur_bytes(image, sigma)
    for number in range(int(passes)):
        _smear(work, int(reach_px), np.uint64(rng.key(f"pass {number}")))
    return blur_bytes(work, sigma)


@jit
def _smear(image: NDArray[np.uint8], reach: int, key: np.uint64) -> None:
    """From bottom right to top left, overwrite each pixel by one at offsets in [-reach, reach-1].

    The reference means to swap the two, but its assignment copies: the neighbour keeps its value.
    """
    height, width = image.shape[:2]
    span = np.uint64(2 * reach)
    drawn = 0
    for y in range(height - reach, reach, -1):
        for x in range(width - reach, reach, -1):
            bits = word(key, np.uint64(drawn))
            drawn += 1
            from_x = x - reach + np.int64(((bits >> _S32) * span) >> _S32)
            from_y = y - reach + np.int64(((bits & _LOW_32) * span) >> _S32)
            image[y, x, 0] = image[from_y, from_x, 0]
            image[y, x, 1] = image[from_y, from_x, 1]
            image[y, x, 2] = image[from_y, from_x, 2]
