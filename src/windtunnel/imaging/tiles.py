"""Tiles for mosaics and stickers: scenes that windtunnel draws, or the images of a folder."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage
from scipy.spatial import KDTree

from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.images import Image
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.files import read_file
from windtunnel.imaging.header import read_header
from windtunnel.kernels.scene_tiles import muted_scene_tiles, scene_tiles

# The share of an image's short side that a tile shows: the centre 224 of 256 pixels.
CENTRE = 224 / 256
# A smaller folder repeats itself within one image.
LEAST = 16


@lru_cache(maxsize=16)
def tiles(folder: str, side_px: int) -> NDArray[np.uint8]:
    """All tiles of one size (count, side, side, 3): the centres of a folder's images, or drawn scenes."""
    if not folder:
        return scene_tiles(side_px)
    return np.stack([_shrunk(path, side_px) for path in tile_files(folder)])


def sticker_tiles(folder: str, side_px: int) -> NDArray[np.uint8]:
    """The tiles that stickers show: all of a folder, or drawn scenes without strong colours."""
    return tiles(folder, side_px) if folder else muted_scene_tiles(side_px)


@lru_cache(maxsize=16)
def tiles_by_colour(folder: str, side_px: int) -> KDTree:
    """The tiles by their mean colours, for the nearest tile to a colour."""
    return KDTree(tiles(folder, side_px).mean(axis=(1, 2)))


def tile_files(folder: str) -> list[Path]:
    """The files of a folder of tiles, sorted by name."""
    place = Path(folder)
    files = sorted(path for path in place.iterdir() if path.is_file()) if place.is_dir() else []
    if len(files) < LEAST:
        raise UserError(
            f"{place} contains {len(files)} files; give a folder of {LEAST} or more images, without "
            "subfolders."
        )
    return files


def check_tiles(tiles: str) -> None:
    """Refuse a folder with few files or with one that is not an image."""
    for path in tile_files(tiles):
        _read(path)


def _shrunk(path: Path, side_px: int) -> Image:
    image = _read(path)
    height, width = image.shape[:2]
    side = CENTRE * min(height, width)
    left, top = (width - side) / 2, (height - side) / 2
    resized = PillowImage.fromarray(image).resize(
        (side_px, side_px), PillowImage.Resampling.BILINEAR, (left, top, left + side, top + side)
    )
    return np.asarray(resized)


def _read(path: Path) -> Image:
    try:
        content = read_file(path)
        return decode(content, read_header(content))
    except ImageError as error:
        raise UserError(f"{path} cannot be read as an image: {error.reason}.") from error
