"""libjpeg-turbo through simplejpeg, with its accurate transforms: the same bits as Pillow."""

from __future__ import annotations

from typing import Any

import numpy as np
import simplejpeg as library

from windtunnel.core.images import Image
from windtunnel.imaging.decoders import JPEG_FORMATS, Size, decoder
from windtunnel.imaging.header import Header


def decode_jpeg(data: bytes, *, fastdct: bool = False, fastupsample: bool = False, **options: int) -> Any:
    """Decode a JPEG by libjpeg-turbo; by default with its accurate transforms."""
    return library.decode_jpeg(data, colorspace="RGB", fastdct=fastdct, fastupsample=fastupsample, **options)


def decode_jpeg_accurately(data: bytes) -> Image:
    """Decode a JPEG by libjpeg-turbo's accurate transforms: the same bits as Pillow."""
    return np.asarray(decode_jpeg(data), dtype=np.uint8)


@decoder(
    help="libjpeg-turbo with its accurate transforms.", formats=JPEG_FORMATS, library="simplejpeg", rank=4
)
def simplejpeg(data: bytes, _header: Header, _at_least: Size) -> Any:
    """Decode a JPEG by libjpeg-turbo's accurate transforms."""
    return decode_jpeg(data)
