"""JPEG compression of low quality."""

from __future__ import annotations

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions.s2n import candidate
from windtunnel.kernels.jpeg import jpeg_pixels

QUALITIES = (5, 16)


@candidate(
    "ImageCompression",
    drawn="The quality, 5 to 15.",
    imitates="An image compressed by a messenger or a web shop.",
    met_by="Messengers, web pages, surveillance archives.",
    family="digital",
    note="ImageCompression and JpegCompression are the same corruption, with other draws.",
    golden="1d0c5efdc29ec64635b77efe7e1c0343",
)
def image_compression(image: Image, rng: Draws) -> Image:
    """Encode and decode; red and blue change places for the encoder, as published."""
    return jpeg_pixels(image, rng.integer("quality", *QUALITIES), as_bgr=True)
