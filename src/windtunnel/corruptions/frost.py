"""Frost: a texture of ice crystals is blended with the image."""

from __future__ import annotations

import math
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.files import read_file
from windtunnel.imaging.header import read_header
from windtunnel.kernels.jit import jit
from windtunnel.kernels.lines import lines

# The reference ships six textures and draws from the first five.
TEXTURES = 5
# Fractional bits of fixed-point numbers: the sum of two bytes' shares fits 32 bits.
BITS = np.uint32(20)

LARGE = ((1, 0.4, 1), (0.8, 0.6, 1), (0.7, 0.7, 1), (0.65, 0.7, 1), (0.6, 0.75, 1))


def check_textures(textures: str) -> None:
    """Refuse a folder without the five textures."""
    for number in range(TEXTURES):
        _load(textures, number)


@corruption(
    params=("keep", "add", "shrink"),
    severities={
        224: LARGE,
        299: LARGE,
        64: ((1, 0.3, 0.3), (0.9, 0.4, 0.3), (0.8, 0.45, 0.3), (0.75, 0.5, 0.3), (0.7, 0.55, 0.3)),
        32: ((1, 0.2, 0.2), (1, 0.3, 0.2), (0.9, 0.4, 0.2), (0.85, 0.4, 0.2), (0.75, 0.45, 0.2)),
    },
    imitates="Ice on a windscreen or on the glass of an outdoor camera.",
    met_by="Cars parked outdoors, doorbell and wildlife cameras in winter, cameras in cold stores.",
    family="weather",
    source="Hendrycks & Dietterich 2019, ImageNet-C",
    revision=1,
    golden="ca479b89be7d9ca6f8fb0c5ea919a244",
    settings=("textures",),
    check=check_textures,
    note="Frost uses textures grown for windtunnel; --set frost.textures=DIR uses the reference's own.",
)
def frost(image: Image, rng: Draws, *, keep: float, add: float, shrink: float, textures: str = "") -> Image:
    """keep * image + add * a random window of a random texture, shrunk first for small editions."""
    height, width = image.shape[:2]
    number = rng.integer("texture", 0, TEXTURES)
    texture = _large_enough(_texture(textures, number, shrink), height, width)
    top = rng.integer("row", 0, texture.shape[0] - height)
    left = rng.integer("column", 0, texture.shape[1] - width)
    plane = _plane(keep, add)
    if plane:
        return _blend_bytes(image, texture, top, left, *plane)
    return _blend(image, texture, top, left, float(keep), add)


@lru_cache(maxsize=32)
def _texture(folder: str, number: int, shrink: float) -> Image:
    texture = _load(folder, number)
    if shrink == 1:
        return texture
    return np.asarray(cv2.resize(texture, (0, 0), fx=shrink, fy=shrink), np.uint8)


def _large_enough(texture: Image, height: int, width: int) -> Image:
    """The texture, enlarged if the image is larger (the reference refuses such images)."""
    grow = max((height + 1) / texture.shape[0], (width + 1) / texture.shape[1])
    if grow <= 1:
        return texture
    size = (math.ceil(texture.shape[1] * grow), math.ceil(texture.shape[0] * grow))
    return np.asarray(cv2.resize(texture, size, interpolation=cv2.INTER_LINEAR), np.uint8)


@lru_cache(maxsize=16)
def _load(folder: str, number: int) -> Image:
    place = Path(folder) if folder else Path(str(files("windtunnel.published") / "frost"))
    if not place.is_dir():
        raise UserError(f"{place} is not a folder; give one with frost1 to frost{TEXTURES}.")
    candidates = sorted(place.glob(f"frost{number + 1}.*"))
    if not candidates:
        raise UserError(
            f"{place} does not contain frost{number + 1}; give a folder with frost1 to frost{TEXTURES}."
        )
    try:
        content = read_file(candidates[0])
        return decode(content, read_header(content))
    except ImageError as error:
        raise UserError(f"{candidates[0]} cannot be read as an image: {error.reason}.") from error


@lru_cache(maxsize=32)
def _plane(keep: float, add: float) -> tuple[np.uint32, np.uint32, np.uint32] | None:
    """keep and add in fixed point and an offset, if that gives the float64 result for every two bytes.

    Where the exact sum is a whole level, float64 may fall below it: for some severities always or never,
    which an offset reproduces, for others now and then; these have no plane.
    """
    one = 1 << int(BITS)
    level = np.arange(256.0)
    result = np.minimum(keep * level[:, None] + add * level, 255.0).astype(np.int64)
    slopes = round(keep * one), round(add * one)
    offset = result * one - (slopes[0] * np.arange(256)[:, None] + slopes[1] * np.arange(256))
    least, most = int(offset.max()), int(offset[result < 255].min()) + one
    if not 0 <= least < most:
        return None
    return np.uint32(slopes[0]), np.uint32(slopes[1]), np.uint32(least)


@jit
def _blend_bytes(
    image: Image,
    texture: NDArray[np.uint8],
    top: int,
    left: int,
    keep: np.uint32,
    add: np.uint32,
    offset: np.uint32,
) -> Image:
    """Blend in fixed point, truncated to 32 bits at every step: the compiler would use 64."""
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    sources, ices, targets = lines(image), lines(texture), lines(out)
    for y in range(height):
        source, target, ice = sources[y], targets[y], ices[top + y][left * 3 : (left + width) * 3]
        for x in range(width * 3):
            both = np.uint32(np.uint32(keep * np.uint32(source[x])) + np.uint32(add * np.uint32(ice[x])))
            target[x] = np.uint8(min(np.uint32(both + offset) >> BITS, np.uint32(255)))
    return out


@jit
def _blend(image: Image, texture: NDArray[np.uint8], top: int, left: int, keep: float, add: float) -> Image:
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    sources, ices, targets = lines(image), lines(texture), lines(out)
    for y in range(height):
        source, target, ice = sources[y], targets[y], ices[top + y][left * 3 : (left + width) * 3]
        for x in range(width * 3):
            both = keep * np.float64(np.int32(source[x])) + add * np.float64(np.int32(ice[x]))
            target[x] = np.uint8(min(np.int32(both), np.int32(255)))
    return out
