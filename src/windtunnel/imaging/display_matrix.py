"""How the frames of a video are turned and mirrored: the display matrix of MP4 files."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from windtunnel.core.images import Image


def display_matrix(frame: Any) -> tuple[int, int, int, int] | None:
    """The upper left part (a, b, c, d) of a frame's display matrix; None without one.

    A pixel at (x, y) is shown at (a x + c y, b x + d y), up to a shift.
    """
    for side_data in frame.side_data:
        if side_data.type.name == "DISPLAYMATRIX":
            a, b, _, c, d, *_ = struct.unpack("=9i", bytes(side_data))
            return a, b, c, d
    return None


def oriented(image: Image, matrix: tuple[int, int, int, int] | None) -> Image:
    """An image turned and mirrored by its display matrix; only by multiples of 90 degrees."""
    if matrix is None or not is_right_angle(matrix):
        return image
    a, b, c, d = matrix
    if a and d:
        return np.ascontiguousarray(image[:: 1 if d > 0 else -1, :: 1 if a > 0 else -1])
    turned = image.transpose(1, 0, 2)
    return np.ascontiguousarray(turned[:: 1 if b > 0 else -1, :: 1 if c > 0 else -1])


def is_right_angle(matrix: tuple[int, int, int, int]) -> bool:
    """Whether a display matrix turns by a multiple of 90 degrees, with or without mirroring."""
    a, b, c, d = matrix
    return bool((a and d and not (b or c)) or (b and c and not (a or d)))


def rotation_of(matrix: tuple[int, int, int, int] | None) -> int:
    """The clockwise rotation of a display matrix in degrees: 0, 90, 180 or 270."""
    if matrix is None or not is_right_angle(matrix):
        return 0
    a, b, _c, _d = matrix
    if a:
        return 0 if a > 0 else 180
    return 90 if b > 0 else 270
