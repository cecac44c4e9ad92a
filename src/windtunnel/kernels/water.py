"""Drops of water on a lens, from a layer of smooth noise."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.kernels.jit import jit
from windtunnel.kernels.lines import lines
from windtunnel.kernels.rims import light_from_edges
from windtunnel.kernels.unit import unit32

WATER = np.array([175, 238, 238], np.float32) / np.float32(255)
# Thresholds of the reference's edge detection in drops.
CANNY = (50, 150)


def wet(image: Image, layer: NDArray[np.float64], threshold: float, glow: float) -> Image:
    """Lay water over an image wherever a layer reaches a threshold, the brightest drop at `glow`."""
    liquid = _liquid(layer, threshold)
    return _lay_water(image, liquid, light_from_edges(cv2.Canny(liquid, *CANNY)), np.float32(glow))


@jit
def _liquid(layer: NDArray[np.float64], threshold: float) -> NDArray[np.uint8]:
    """The layer as bytes where it reaches the threshold; above full scale they begin again at black."""
    out = np.empty(layer.shape, np.uint8)
    for y in range(layer.shape[0]):
        source, target = layer[y], out[y]
        for x in range(source.size):
            target[x] = np.uint8(np.int32(source[x] * 255.0)) if source[x] >= threshold else np.uint8(0)
    return out


@jit
def _lay_water(
    image: Image, liquid: NDArray[np.uint8], light: NDArray[np.uint8], strength: np.float32
) -> Image:
    """x + water * liquid * light, the brightest water at `strength`, clipped at white."""
    height, width = image.shape[:2]
    # A layer without drops is 0/0 in the reference; here it adds nothing.
    brightest = np.int32(1)
    for y in range(height):
        wet, lit = liquid[y], light[y]
        for x in range(width):
            brightest = np.maximum(brightest, np.int32(wet[x]) * np.int32(lit[x]))
    out = np.empty((height, width, 3), np.uint8)
    glow = np.empty(width, np.float32)
    sources, targets = lines(image), lines(out)
    shine, colour = np.empty(width * 3, np.float32), np.empty(width * 3, np.float32)
    for x in range(width * 3):
        colour[x] = WATER[x % 3]
    for y in range(height):
        wet, lit = liquid[y], light[y]
        source, target = sources[y], targets[y]
        for x in range(width):
            glow[x] = np.float32(np.int32(wet[x]) * np.int32(lit[x])) / np.float32(brightest) * strength
        for x in range(width):
            at, value = np.uint64(3 * x), glow[x]  # unsigned: no negative index to look for
            shine[at] = value
            shine[at + np.uint64(1)] = value
            shine[at + np.uint64(2)] = value
        for x in range(width * 3):
            mixed = unit32(source[x]) + shine[x] * colour[x]
            target[x] = np.uint8(np.int32(min(mixed, np.float32(1)) * np.float32(255)))
    return out


@jit
def run_down(layer: NDArray[np.float64], shares: tuple[float, float, float, float]) -> NDArray[np.float64]:
    """Every row gives shares of itself to the row above, to itself and to the two below."""
    up, stay, down, far_down = shares
    height, width = layer.shape
    dry = np.zeros(width)
    out = np.empty((height, width))
    for y in range(height):
        two_above = layer[y - 2] if y > 1 else dry
        above = layer[y - 1] if y > 0 else dry
        here, below = layer[y], layer[y + 1] if y + 1 < height else dry
        target = out[y]
        for x in range(width):
            target[x] = up * below[x] + stay * here[x] + down * above[x] + far_down * two_above[x]
    return out
