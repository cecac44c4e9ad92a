"""Filled triangles, squares, stars and circles as masks, drawn by Pillow."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage
from PIL import ImageDraw

from windtunnel.core.images import Image
from windtunnel.kernels.jit import jit

TRIANGLE, SQUARE, STAR, CIRCLE = range(4)
DEGREES = 360
# A mask contains shapes of up to 15 pixels around their place in it.
SIDE, PLACE = 32, 14
# Masks are cut out of a larger image, at places that Pillow rounds as it does inside images.
FAR = 100


def star_points(radius: float, degrees: int) -> list[tuple[float, float]]:
    """The corners of a star with five points around 0: outer ones at the radius, inner ones at half of it."""
    angles = [math.radians(36 * number + degrees) for number in range(10)]
    radii = [radius if number % 2 == 0 else radius / 2 for number in range(10)]
    return [(r * math.sin(angle), r * math.cos(angle)) for r, angle in zip(radii, angles, strict=True)]


@cache
def stamp(shape: int, size: int, degrees: int) -> NDArray[np.bool_]:
    """The mask of a shape whose place, a star's centre or another shape's corner, is at (PLACE, PLACE)."""
    canvas = PillowImage.new("L", (2 * FAR, 2 * FAR))
    draw = ImageDraw.Draw(canvas)
    box = (FAR, FAR, FAR + size, FAR + size)
    if shape == TRIANGLE:
        draw.polygon([(FAR, FAR), (FAR + size, FAR), (FAR + size / 2, FAR + size)], fill=1)
    elif shape == SQUARE:
        draw.rectangle(box, fill=1)
    elif shape == CIRCLE:
        draw.ellipse(box, fill=1)
    else:
        draw.polygon([(FAR + x, FAR + y) for x, y in star_points(size / 1.2, degrees)], fill=1)
    first = FAR - PLACE
    return np.asarray(canvas)[first : first + SIDE, first : first + SIDE] > 0


def stamped(
    image: Image,
    shapes: list[int],
    sizes: list[int],
    degrees: list[int],
    places: NDArray[np.int64],
    colours: NDArray[np.uint8],
) -> Image:
    """The image with shapes painted over it in order; places are rows and columns."""
    masks: dict[tuple[int, int, int], int] = {}
    numbers = np.empty(len(shapes), np.int64)
    for index, (shape, size, turn) in enumerate(zip(shapes, sizes, degrees, strict=True)):
        key = (shape, size, turn if shape == STAR else 0)
        numbers[index] = masks.setdefault(key, len(masks))
    return _paint(image, np.stack([stamp(*key) for key in masks]), numbers, places, colours)


@jit
def _paint(
    image: Image,
    masks: NDArray[np.bool_],
    numbers: NDArray[np.int64],
    places: NDArray[np.int64],
    colours: NDArray[np.uint8],
) -> Image:
    height, width = image.shape[:2]
    out = image.copy()
    for index in range(numbers.size):
        mask, top, left = masks[numbers[index]], places[index, 0] - PLACE, places[index, 1] - PLACE
        for y in range(max(top, 0), min(top + SIDE, height)):
            for x in range(max(left, 0), min(left + SIDE, width)):
                if mask[y - top, x - left]:
                    for c in range(3):
                        out[y, x, c] = colours[index, c]
    return out
