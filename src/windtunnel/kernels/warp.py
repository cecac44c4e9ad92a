"""Warps as the reference's libraries made them, whatever their current versions do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.imaging import Image
from windtunnel.kernels.jit import jit

# OpenCV 3.4 rounds coordinates to 1/1024, then to 1/32 of a pixel.
FINE = 1024.0


@jit
def _mirror_101(index: int, size: int) -> int:
    """Mirror an index at the middle of the border pixels: 2 1 | 0 1 2."""
    while index < 0 or index >= size:
        index = -index if index < 0 else 2 * size - 2 - index
    return index


@jit
def affine_mirrored(image: Image, inverse: NDArray[np.float64]) -> NDArray[np.float32]:
    """Sample a picture at inverse @ (x, y, 1), bilinear on OpenCV 3.4's 1/32-pixel grid, mirrored border."""
    height, width = image.shape[:2]
    flat = image.reshape(-1)
    out = np.empty((height, width, 3), np.float32)
    across_x = np.empty(width, np.int64)
    across_y = np.empty(width, np.int64)
    for x in range(width):
        across_x[x] = np.int64(np.rint(inverse[0, 0] * x * FINE))
        across_y[x] = np.int64(np.rint(inverse[1, 0] * x * FINE))
    for y in range(height):
        base_x = np.int64(np.rint((inverse[0, 1] * y + inverse[0, 2]) * FINE)) + 16
        base_y = np.int64(np.rint((inverse[1, 1] * y + inverse[1, 2]) * FINE)) + 16
        target = out[y].reshape(-1)
        for x in range(width):
            fixed_x = (base_x + across_x[x]) >> 5
            fixed_y = (base_y + across_y[x]) >> 5
            left, top = fixed_x >> 5, fixed_y >> 5
            part_x = np.float32(fixed_x & 31) * np.float32(1 / 32)
            part_y = np.float32(fixed_y & 31) * np.float32(1 / 32)
            right, bottom = left + 1, top + 1
            if left < 0 or right >= width:
                left, right = _mirror_101(left, width), _mirror_101(right, width)
            if top < 0 or bottom >= height:
                top, bottom = _mirror_101(top, height), _mirror_101(bottom, height)
            # Flat indices: one multiplication for a row instead of one for every access.
            north, south = top * width * 3, bottom * width * 3
            west, east = left * 3, right * 3
            rest_x, rest_y = np.float32(1) - part_x, np.float32(1) - part_y
            for channel in range(3):
                upper = np.float32(flat[north + west + channel]) * rest_x
                upper += np.float32(flat[north + east + channel]) * part_x
                lower = np.float32(flat[south + west + channel]) * rest_x
                lower += np.float32(flat[south + east + channel]) * part_x
                target[x * 3 + channel] = upper * rest_y + lower * part_y
    return out


@jit
def _mirror(index: int, size: int) -> int:
    """Mirror an index at the outer edge of the border pixels: 1 0 | 0 1 2."""
    while index < 0 or index >= size:
        index = -1 - index if index < 0 else 2 * size - 1 - index
    return index


@jit
def displace_mirrored(
    image: NDArray[np.float32], across: NDArray[np.float32], down: NDArray[np.float32]
) -> Image:
    """Sample at (y + down, x + across) as SciPy does: bilinear, mirrored; truncated to bytes."""
    height, width = image.shape[:2]
    flat = image.reshape(-1)
    out = np.empty((height, width, 3), np.uint8)
    for y in range(height):
        target = out[y].reshape(-1)
        for x in range(width):
            at_x = x + np.float64(across[y, x])
            at_y = y + np.float64(down[y, x])
            floor_x, floor_y = np.floor(at_x), np.floor(at_y)
            part_x, part_y = np.float32(at_x - floor_x), np.float32(at_y - floor_y)
            left, top = int(floor_x), int(floor_y)
            right, bottom = left + 1, top + 1
            if left < 0 or right >= width:
                left, right = _mirror(left, width), _mirror(right, width)
            if top < 0 or bottom >= height:
                top, bottom = _mirror(top, height), _mirror(bottom, height)
            north, south = top * width * 3, bottom * width * 3
            west, east = left * 3, right * 3
            for channel in range(3):
                upper = flat[north + west + channel]
                upper += (flat[north + east + channel] - upper) * part_x
                lower = flat[south + west + channel]
                lower += (flat[south + east + channel] - lower) * part_x
                value = upper + (lower - upper) * part_y
                # An even area must come back as it was: float32 misses by less than this.
                target[x * 3 + channel] = np.uint8(np.int32(value + np.float32(1e-4)))
    return out
