"""Random crops for training, drawn per image: the crop does not depend on other settings."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from windtunnel.core.errors import UserError
from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.imaging.decoders import REGISTRY as DECODERS
from windtunnel.imaging.resizers import resize
from windtunnel.kernels.window import Window

# The shares of the image's area, and the aspect ratios, of crops: the usual ones for training on ImageNet.
AREA = (0.08, 1.0)
ASPECT = (3 / 4, 4 / 3)
TRIES = 10

Area = tuple[float, float]


def random_crop(width: int, height: int, draws: Draws, area: Area = AREA) -> Window:
    """A random rectangle of an image.

    Its area is uniform in the range of shares, its aspect uniform in the logarithm. If ten draws do not fit,
    it is the largest centred rectangle with an allowed aspect.
    """
    for number in range(TRIES):
        share = draws.uniform(f"area {number}", *area)
        aspect = math.exp(draws.uniform(f"aspect {number}", *map(math.log, ASPECT)))
        crop_width = round(math.sqrt(share * width * height * aspect))
        crop_height = round(math.sqrt(share * width * height / aspect))
        if 0 < crop_width <= width and 0 < crop_height <= height:
            left = draws.integer(f"left {number}", 0, width - crop_width + 1)
            top = draws.integer(f"top {number}", 0, height - crop_height + 1)
            return Window(top, left, crop_height, crop_width)
    crop_width = min(width, round(height * ASPECT[1]))
    crop_height = min(height, round(width / ASPECT[0]))
    return Window((height - crop_height) // 2, (width - crop_width) // 2, crop_height, crop_width)


def refuse_scaling(decoders: Iterable[str]) -> None:
    """Refuse decoders that shrink an image to the size for a centre crop: a small crop needs more detail."""
    for name in decoders:
        if DECODERS.get(name).scales:
            raise UserError(
                f"Decoder {name} shrinks an image before its crop for training is drawn; give others, such "
                "as simplejpeg."
            )


def training_view(
    image: Image, side_px: int, resizer: str, draws: Draws, area: Area = AREA, *, mirror: bool = True
) -> Image:
    """A random crop, resized to a square; with `mirror`, half of them are mirrored."""
    height, width = image.shape[:2]
    part = np.ascontiguousarray(random_crop(width, height, draws, area).cut(image))
    view = resize(part, side_px, side_px, resizer)
    return view[:, ::-1] if mirror and draws.uniform("mirror") < 0.5 else view
