"""Glass blur: Gaussian blur, random copies of neighbouring pixels, Gaussian blur again."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.draws import word
from windtunnel.kernels.gaussian import blur_bytes
from windtunnel.kernels.jit import jit

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
    imitates="A frosted or ribbed pane in front of the lens.",
    met_by="Cameras behind patterned or privacy glass, or in scratched and steamed-up housings.",
    family="blur",
    source="Hendrycks & Dietterich 2019, ImageNet-C",
    revision=2,
    golden="fbd520b1611a9402b8ade2570870c9cd",
)
def glass_blur(image: Image, rng: Draws, *, sigma: float, reach_px: float, passes: float) -> Image:
    """Blur, copy every pixel from a random neighbour up to reach_px away in several passes, blur again."""
    # With a fourth channel a pixel is copied as one 32-bit number instead of three bytes.
    work = cv2.cvtColor(blur_bytes(image, sigma), cv2.COLOR_RGB2RGBA)
    pixels = work.view(np.uint32)[:, :, 0]
    for number in range(int(passes)):
        _smear(pixels, int(reach_px), np.uint64(rng.key(f"pass {number}")))
    return blur_bytes(np.asarray(cv2.cvtColor(work, cv2.COLOR_RGBA2RGB), np.uint8), sigma)


@jit
def _smear(pixels: NDArray[np.uint32], reach: int, key: np.uint64) -> None:
    """From bottom right to top left, overwrite each pixel by one at offsets in [-reach, reach-1].

    The reference means to swap the two, but its assignment copies: the neighbour keeps its value.
    """
    height, width = pixels.shape
    flat = pixels.reshape(-1)
    span = np.uint64(2 * reach)
    count = width - 2 * reach
    ahead = np.empty(count, np.int64)
    for row in range(height - 2 * reach):
        # All draws of a row first: the compiler vectorises them, but not the copies.
        for i in range(count):
            bits = word(key, np.uint64(row * count + i))
            down, right = ((bits & _LOW_32) * span) >> _S32, ((bits >> _S32) * span) >> _S32
            ahead[i] = np.int64(down * np.uint64(width) + right)
        last = (height - reach - row) * width + width - reach
        farthest = last - reach * width - reach
        for i in range(count):
            flat[last - i] = flat[farthest - i + ahead[i]]
