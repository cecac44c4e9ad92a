"""Tables of 256 bytes: functions of the value of one channel, applied in one pass."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image

Table = NDArray[np.uint8]

LEVELS: NDArray[np.int64] = np.arange(256)
# For channels that stay as they are.
UNCHANGED: Table = LEVELS.astype(np.uint8)


def truncated(values: NDArray[Any]) -> Table:
    """Values clipped to 0..255, without their fraction."""
    return np.minimum(np.maximum(values, 0), 255).astype(np.uint8)


def through_table(image: Image, table: Table) -> Image:
    """Every channel of an image through one table."""
    return np.asarray(cv2.LUT(image, table), np.uint8)


def through_tables(image: Image, first: Table, second: Table, third: Table) -> Image:
    """Every channel of an image through a table of its own."""
    return np.asarray(cv2.LUT(image, np.stack([first, second, third], axis=1)[None]), np.uint8)
