"""No codec: the pixels are unchanged; files on disk are PNG."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.imaging.codecs import codec
from windtunnel.imaging.codecs.png import png


@codec(help="Not stored: the pixels are unchanged; lossless PNG on disk.", suffix=".png", lossless=True)
def none(image: Image) -> bytes:
    """Store as PNG."""
    return png.encode(image)
