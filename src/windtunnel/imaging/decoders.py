"""Decoders: encoded bytes to pixels, by library."""

from __future__ import annotations

import io
from collections.abc import Callable

import cv2
import numpy as np
import simplejpeg
from PIL import Image as PillowImage

from windtunnel.errors import PictureError, unknown_name
from windtunnel.imaging import Image
from windtunnel.imaging.header import UPRIGHT, Header

# EXIF orientation to (flip left-right first, quarter turns counter-clockwise), from the EXIF standard.
ORIENTATIONS: dict[int, tuple[bool, int]] = {
    1: (False, 0),
    2: (True, 0),
    3: (False, 2),
    4: (True, 2),
    5: (True, 1),
    6: (False, 3),
    7: (True, 3),
    8: (False, 1),
}


def decode(data: bytes, header: Header, decoder: str = "pillow", exif: str = "ignore") -> Image:
    """Decode a picture; `exif` says whether its orientation tag is applied or ignored.

    The orientation is applied here for every decoder alike, so that a change of decoder never
    turns a picture.
    """
    if decoder not in DECODERS:
        raise unknown_name("decoder", decoder, DECODERS)
    try:
        image = DECODERS[decoder](data)
    except PictureError:
        raise
    except Exception as error:  # decoders raise what they like at damaged pictures
        raise PictureError("unreadable", f"{decoder}: {type(error).__name__}: {error}") from error
    if exif == "apply" and header.orientation != UPRIGHT:
        flip, turns = ORIENTATIONS[header.orientation]
        image = np.rot90(image[:, ::-1] if flip else image, turns)
    return np.ascontiguousarray(image)


def _pillow(data: bytes) -> Image:
    with PillowImage.open(io.BytesIO(data)) as picture:
        if picture.mode.startswith("I;16"):
            # Pillow's own conversion clips at 255; the high byte is what other decoders give.
            grey = (np.asarray(picture) >> 8).astype(np.uint8)
            return np.repeat(grey[:, :, None], 3, axis=2)
        if picture.mode in ("I", "F"):
            raise PictureError("unreadable", f"pillow: pictures of mode {picture.mode} are not supported")
        return np.asarray(picture.convert("RGB"))


def _opencv(data: bytes) -> Image:
    flags = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION
    image = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    if image is None:
        raise PictureError("unreadable", "opencv: cannot decode this picture")
    return np.asarray(image, dtype=np.uint8)


def _simplejpeg(data: bytes) -> Image:
    if not data.startswith(b"\xff\xd8"):
        raise PictureError("unreadable", "simplejpeg: reads JPEG only")
    return decode_jpeg_accurately(data)


def decode_jpeg_accurately(data: bytes) -> Image:
    """Decode a JPEG by libjpeg-turbo's accurate transforms: the same bits as Pillow."""
    return np.asarray(
        simplejpeg.decode_jpeg(data, colorspace="RGB", fastdct=False, fastupsample=False), dtype=np.uint8
    )


DECODERS: dict[str, Callable[[bytes], Image]] = {
    "pillow": _pillow,
    "opencv": _opencv,
    "simplejpeg": _simplejpeg,
}
