"""libjpeg-turbo, which scales while it decodes."""

from __future__ import annotations

from typing import Any

from windtunnel.imaging.decoders import JPEG_FORMATS, Size, decoder
from windtunnel.imaging.decoders.simplejpeg import decode_jpeg
from windtunnel.imaging.header import Header


@decoder(
    help="libjpeg-turbo, scaling in the DCT domain to the smallest size that still covers the resize.",
    formats=JPEG_FORMATS,
    library="simplejpeg",
    scales=True,
    rank=7,
)
def simplejpeg_scaled(data: bytes, _header: Header, at_least: Size) -> Any:
    """Decode a JPEG at the smallest scale that is not below a size."""
    width, height = at_least
    return decode_jpeg(data, min_width=width, min_height=height)
