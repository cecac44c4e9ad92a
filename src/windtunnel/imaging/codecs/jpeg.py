"""JPEG of a quality, as Pillow encodes by default: baseline, 4:2:0."""

from __future__ import annotations

import cv2

from windtunnel.core.images import Image
from windtunnel.imaging.codecs import Parameter, codec
from windtunnel.imaging.codecs.png import encode_by_opencv
from windtunnel.imaging.decoders.simplejpeg import decode_jpeg_accurately
from windtunnel.kernels.jpeg import jpeg_pixels

# Of narrower images, decoders repeat the chroma of two columns instead of interpolating it.
LEAST_WIDTH_PX = 5


def jpeg_round_trip(image: Image, quality: int) -> Image:
    """Encode as Pillow does by default and decode: the same pixels, in less time."""
    if image.shape[1] < LEAST_WIDTH_PX:
        return jpeg.decode(jpeg.encode(image, quality))
    return jpeg_pixels(image, quality)


@codec(
    help="JPEG of a quality (baseline, 4:2:0), as ImageNet-C is stored.",
    suffix=".JPEG",
    decode=decode_jpeg_accurately,
    parameter=Parameter("quality", 1, 100),
    pixels=jpeg_round_trip,
)
def jpeg(image: Image, quality: int) -> bytes:
    """Store as JPEG: the same pixels as Pillow's, in less time."""
    return encode_by_opencv(image, ".JPEG", (cv2.IMWRITE_JPEG_QUALITY, quality), f"jpeg:{quality}")
