"""Pillow: the decoder of torchvision and timm."""

from __future__ import annotations

import numpy as np

from windtunnel.core.errors import ImageError
from windtunnel.core.images import Image
from windtunnel.imaging.decoders import Size, decoder
from windtunnel.imaging.header import Header, open_by_pillow

# The number of pixels that are converted at a time.
BAND_PIXELS = 2**20


@decoder(help="Pillow, as torchvision and timm decode.", library="pillow", turns=("TIFF",), rank=1)
def pillow(data: bytes, header: Header, _at_least: Size) -> Image:
    """Decode by Pillow and convert to RGB."""
    with open_by_pillow(data, header.format) as image:
        if image.mode in ("I", "F"):
            raise ImageError("unreadable", f"pillow: images of mode {image.mode} are not supported")
        image.load()
        width, height = image.size
        pixels = np.empty((height, width, 3), np.uint8)
        # Converted band by band: a second copy of the whole image would double the memory.
        rows = max(1, BAND_PIXELS // width)
        for top in range(0, height, rows):
            band = image.crop((0, top, width, min(height, top + rows)))
            if image.mode.startswith("I;16"):
                # Pillow's own conversion clips at 255; other decoders return the high byte.
                pixels[top : top + rows] = (np.asarray(band) >> 8).astype(np.uint8)[:, :, None]
            else:
                pixels[top : top + rows] = np.asarray(band.convert("RGB"))
        return pixels
