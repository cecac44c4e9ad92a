"""Zoom blur that increases from frame to frame."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.kernels.jit import jit
from windtunnel.kernels.warp import AffineWarp, about_centre
from windtunnel.kernels.window import Window
from windtunnel.sequences import Table, sequence


@sequence(
    type="temporal",
    params=("step",),
    tables={
        224: Table(((0.004,),), clean=0, stage="resized"),
        299: Table(((0.004,),), clean=0),
        64: Table(((0.004,),), clean=0),
        32: Table(((0.004,),), clean=0),
    },
    imitates="A camera that moves forwards faster and faster during the exposure.",
    met_by="Dashboard and train cameras, drones that climb or land, photographers of sport.",
    family="blur",
    source="Hendrycks & Dietterich 2019, ImageNet-P",
    revision=1,
    golden="5327fa78fe47751cf943b56d3fd4ddbc",
    random=False,
)
def zoom_blur(
    image: Image,
    rng: Draws,  # noqa: ARG001
    frames: int,
    *,
    window: Window,
    step: float,
) -> Iterator[Image]:
    """The mean of the image and all its enlargements so far, each larger by a step."""
    height, width = image.shape[:2]
    warp = AffineWarp(image, window)
    total = np.zeros(window.height * window.width * 3, np.float32)
    for number in range(frames):
        yield _add_and_average(warp(about_centre(width, height, scale=1 + step * number)), total, number + 1)


@jit
def _add_and_average(image: Image, total: NDArray[np.float32], count: int) -> Image:
    """Add an image, scaled to 0..1, to the running total of `count` images, and return their mean.

    Operations are in the reference's order: in uniform areas the last bit can change a level.
    """
    out = np.empty(image.shape, np.uint8)
    source, target = image.reshape(-1), out.reshape(-1)
    share = np.float32(count)
    for i in range(source.size):
        total[i] += np.float32(source[i]) / np.float32(255)
        mean = min(total[i] / share, np.float32(1))
        target[i] = np.uint8(np.int32(mean * np.float32(255)))
    return out
