"""Warps as the reference's libraries made them, whatever their current versions do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.imaging import Image
from windtunnel.kernels.jit import jit
from windtunnel.kernels.mirror import mirror_101, mirror_edge

# OpenCV 3.4 rounds coordinates to 1/1024, then to 1/32 of a pixel.
FINE = 1024.0
# Added before truncation towards zero, so that it rounds down for every coordinate that can occur.
OFFSET = 1024
# An even area must come back as it was: float32 misses by less than this.
FLOAT32_MISS = np.float32(1e-4)


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
            right, bottom = left + 1, top + 1
            if left < 0 or right >= width:
                left, right = mirror_101(left, width), mirror_101(right, width)
            if top < 0 or bottom >= height:
                top, bottom = mirror_101(top, height), mirror_101(bottom, height)
            part_x = np.float32(fixed_x & 31) * np.float32(1 / 32)
            part_y = np.float32(fixed_y & 31) * np.float32(1 / 32)
            both = part_x * part_y
            a, b = np.uint64((top * width + left) * 3), np.uint64((top * width + right) * 3)
            c, d = np.uint64((bottom * width + left) * 3), np.uint64((bottom * width + right) * 3)
            for channel in range(3):
                step = np.uint64(channel)
                target[3 * x + channel] = (
                    (np.float32(1) - part_x - part_y + both) * np.float32(flat[a + step])
                    + (part_x - both) * np.float32(flat[b + step])
                    + (part_y - both) * np.float32(flat[c + step])
                    + both * np.float32(flat[d + step])
                )
    return out


@jit
def displace_mirrored(
    image: NDArray[np.float32], across: NDArray[np.float32], down: NDArray[np.float32]
) -> Image:
    """Sample at (y + down, x + across) as SciPy does: bilinear, mirrored; truncated to bytes."""
    height, width = image.shape[:2]
    flat = image.reshape(-1)
    out = np.empty((height, width, 3), np.uint8)
    for y in range(height):
        target, steps_x, steps_y = out[y].reshape(-1), across[y], down[y]
        for x in range(width):
            at_x, at_y = np.float32(x) + steps_x[x], np.float32(y) + steps_y[x]
            left = int(at_x + np.float32(OFFSET)) - OFFSET
            top = int(at_y + np.float32(OFFSET)) - OFFSET
            part_x, part_y = at_x - np.float32(left), at_y - np.float32(top)
            right, bottom = left + 1, top + 1
            if left < 0 or right >= width:
                left, right = mirror_edge(left, width), mirror_edge(right, width)
            if top < 0 or bottom >= height:
                top, bottom = mirror_edge(top, height), mirror_edge(bottom, height)
            both = part_x * part_y
            a, b = np.uint64((top * width + left) * 3), np.uint64((top * width + right) * 3)
            c, d = np.uint64((bottom * width + left) * 3), np.uint64((bottom * width + right) * 3)
            for channel in range(3):
                step = np.uint64(channel)
                value = (
                    (np.float32(1) - part_x - part_y + both) * flat[a + step]
                    + (part_x - both) * flat[b + step]
                    + (part_y - both) * flat[c + step]
                    + both * flat[d + step]
                )
                target[3 * x + channel] = np.uint8(np.int32(min(value + FLOAT32_MISS, np.float32(255))))
    return out
