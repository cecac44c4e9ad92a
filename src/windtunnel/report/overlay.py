"""A map of what an answer hangs on, drawn over its picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage
from PIL import ImageDraw

from windtunnel.imaging import Image
from windtunnel.imaging.window import Window

# Orange where the answer hangs, blue where it gains when covered: told apart with any kind of colour vision.
FOR = (213, 94, 0)
AGAINST = (0, 114, 178)
# How much of the picture shows where the map is strongest, and how pale it is everywhere.
STRONGEST = 0.8
PALE = 0.35
SIDE_PX = 448
GAP_PX = 8
FRAME_PX = 2


def overlay(picture: Image, values: NDArray[np.float64]) -> Image:
    """A pale grey picture under a map: orange for positive, blue for negative, the strongest fullest.

    Args:
        picture: what the model saw.
        values: a number per pixel; the colours' scale is that of the number farthest from 0.
    """
    grey = picture.astype(np.float64) @ (0.299, 0.587, 0.114)
    base = (PALE * 255 + (1 - PALE) * grey)[..., None]
    scale = float(np.abs(values).max()) or 1.0
    amount = (STRONGEST * np.abs(values) / scale)[..., None]
    paint = np.where(values[..., None] >= 0, np.array(FOR, np.float64), np.array(AGAINST, np.float64))
    return np.rint((1 - amount) * base + amount * paint).astype(np.uint8)


def side_by_side(
    picture: Image, values: NDArray[np.float64], patch: Window | None = None
) -> PillowImage.Image:
    """The picture and its overlay side by side, a patch framed; small ones enlarged by whole pixels."""
    height, width = picture.shape[:2]
    grow = max(1, SIDE_PX // max(height, width))
    sheet = PillowImage.new("RGB", (2 * grow * width + GAP_PX, grow * height), "white")
    places = (0, grow * width + GAP_PX)
    for left, one in zip(places, (picture, overlay(picture, values)), strict=True):
        cell = PillowImage.fromarray(one).resize(
            (grow * width, grow * height), PillowImage.Resampling.NEAREST
        )
        sheet.paste(cell, (left, 0))
    if patch is None:
        return sheet
    left, top = places[1] + grow * patch.left, grow * patch.top
    corner = left + grow * patch.width - 1, top + grow * patch.height - 1
    ImageDraw.Draw(sheet).rectangle((left, top, *corner), outline="black", width=FRAME_PX)
    return sheet
