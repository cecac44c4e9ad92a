"""libjpeg-turbo with fast chroma upsampling."""

from __future__ import annotations

from typing import Any

from windtunnel.imaging.decoders import JPEG_FORMATS, Size, decoder
from windtunnel.imaging.decoders.simplejpeg import decode_jpeg
from windtunnel.imaging.header import Header


@decoder(
    help="libjpeg-turbo with fast chroma upsampling.", formats=JPEG_FORMATS, library="simplejpeg", rank=6
)
def simplejpeg_fastupsample(data: bytes, _header: Header, _at_least: Size) -> Any:
    """Decode a JPEG by libjpeg-turbo with fast chroma upsampling."""
    return decode_jpeg(data, fastupsample=True)
