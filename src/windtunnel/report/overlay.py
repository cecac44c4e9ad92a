"""A map of what an answer hangs on, drawn over its picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage

from windtunnel.imaging import Image

# Orange where the answer hangs, blue where it gains when covered: told apart with any kind of colour vision.
FOR = (213, 94, 0)
AGAINST = (0, 114, 178)
# How much of the picture shows where the map is strongest, and how pale it is everywhere.
STRONGEST = 0.8
PALE = 0.35
SIDE_PX = 448
GAP_PX = 8


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


def side_by_side(picture: Image, values: NDArray[np.float64]) -> Image:
    """The picture and its overlay beside each other, small ones enlarged by whole pixels."""
    grow = max(1, SIDE_PX // max(picture.shape[:2]))
    cells = [np.kron(one, np.ones((grow, grow, 1), np.uint8)) for one in (picture, overlay(picture, values))]
    gap = np.full((cells[0].shape[0], GAP_PX, 3), 255, np.uint8)
    return np.concatenate([cells[0], gap, cells[1]], axis=1)


def save_side_by_side(file: str, picture: Image, values: NDArray[np.float64]) -> None:
    """Write them as a PNG."""
    PillowImage.fromarray(side_by_side(picture, values)).save(file, "PNG")
