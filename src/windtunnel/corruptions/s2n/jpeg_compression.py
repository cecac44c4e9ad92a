"""JPEG compression of low quality."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.jpeg import jpeg_pixels

QUALITIES = (5, 16)


@candidate(
    "JpegCompression",
    drawn="The quality, 5 to 15.",
    imitates="An image compressed by a messenger or a web shop.",
    met_by="Messengers, web pages, surveillance archives.",
    family="digital",
    note="JpegCompression is the same corruption as ImageCompression, with other draws.",
    golden="e722e34028468d21a959b280b0519d6e",
)
def jpeg_compression(image: Image, rng: Draws) -> Image:
    """Encode and decode; red and blue change places for the encoder, as published."""
    return jpeg_pixels(image, rng.integer("quality", *QUALITIES), as_bgr=True)
