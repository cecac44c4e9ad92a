"""Tables of 256 bytes: functions of the value of one channel, applied in one pass."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.kernels.jit import jit
from windtunnel.kernels.vector_lookup import IS_FAST, look_up

Table = NDArray[np.uint8]

LEVELS: NDArray[np.int64] = np.arange(256)
# For channels that stay as they are.
UNCHANGED: Table = LEVELS.astype(np.uint8)


def truncated(values: NDArray[Any]) -> Table:
    """Values clipped to 0..255, without their fraction."""
    return np.asarray(np.minimum(np.maximum(values, 0), 255), np.uint8)


def through_table(image: Image, table: Table) -> Image:
    """Every channel of an image through one table."""
    if not IS_FAST:
        return np.asarray(cv2.LUT(image, table), np.uint8)
    out = np.empty_like(image)
    look_up(image, table, out)
    return out


def through_tables(image: Image, first: Table, second: Table, third: Table) -> Image:
    """Every channel of an image through a table of its own."""
    return np.asarray(cv2.LUT(image, np.stack([first, second, third], axis=1)[None]), np.uint8)


def through_chosen_tables(image: Image, choice: NDArray[np.uint8], tables: NDArray[np.uint8]) -> Image:
    """Every pixel through one of several tables: `choice` has its number for every pixel."""
    out = np.empty_like(image)
    _choose(image.reshape(-1), choice.reshape(-1), tables, out.reshape(-1))
    return out


def blended(tables: list[Table], value: int, share: float) -> Table:
    """The last table blended with a value as OpenCV blends images."""
    constant = np.full(256, value, np.uint8)
    return np.asarray(cv2.addWeighted(constant, share, tables[-1], 1 - share, 0), np.uint8).reshape(256)


@jit
def _choose(
    values: NDArray[np.uint8], choice: NDArray[np.uint8], tables: NDArray[np.uint8], out: NDArray[np.uint8]
) -> None:
    for pixel in range(choice.size):
        table = tables[choice[pixel]]
        for place in range(3 * pixel, 3 * pixel + 3):
            out[place] = table[values[place]]
