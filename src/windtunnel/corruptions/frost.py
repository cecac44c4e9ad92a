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

# The reference ships six textures and draws from the first five.
TEXTURES = 5

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
    return _blend(image, texture, top, left, keep, add)


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


@jit
def _blend(image: Image, texture: NDArray[np.uint8], top: int, left: int, keep: float, add: float) -> Image:
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    for y in range(height):
        source, target = image[y].reshape(-1), out[y].reshape(-1)
        ice = texture[top + y].reshape(-1)[left * 3 : (left + width) * 3]
        for x in range(width * 3):
            target[x] = np.uint8(min(keep * source[x] + add * ice[x], 255.0))
    return out
