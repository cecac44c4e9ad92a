"""libjpeg-turbo with the fast inverse DCT."""

from __future__ import annotations

from typing import Any

from windtunnel.imaging.decoders import JPEG_FORMATS, Size, decoder
from windtunnel.imaging.decoders.simplejpeg import decode_jpeg
from windtunnel.imaging.header import Header


@decoder(help="libjpeg-turbo with the fast inverse DCT.", formats=JPEG_FORMATS, library="simplejpeg", rank=5)
def simplejpeg_fastdct(data: bytes, _header: Header, _at_least: Size) -> Any:
    """Decode a JPEG by libjpeg-turbo with the fast inverse DCT."""
    return decode_jpeg(data, fastdct=True)
