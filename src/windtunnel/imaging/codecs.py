"""Codecs: what storing a picture does to it (`none`, `png`, `jpeg:85`)."""

from __future__ import annotations

import cv2
import numpy as np

from windtunnel.errors import UserError
from windtunnel.imaging import Image
from windtunnel.imaging.decoders import decode_jpeg_accurately

LOSSLESS = ("none", "png")


def check_codec(codec: str) -> str:
    """Return a codec's canonical name, or say what codecs there are."""
    if codec in LOSSLESS:
        return codec
    name, _, quality = codec.partition(":")
    if name == "jpeg" and quality.isdecimal() and 1 <= int(quality) <= 100:
        return f"jpeg:{int(quality)}"
    raise UserError(f"Unknown codec '{codec}'. Give none, png, or jpeg:QUALITY with a quality from 1 to 100.")


def round_trip(image: Image, codec: str) -> Image:
    """The picture after it has been stored with a codec and read again."""
    if codec in LOSSLESS:
        return image
    return jpeg_round_trip(image, int(codec.partition(":")[2]))


def jpeg_round_trip(image: Image, quality: int) -> Image:
    """Encode as Pillow does by default (baseline, 4:2:0) and decode: the same pixels, in less time."""
    done, data = cv2.imencode(
        ".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), (cv2.IMWRITE_JPEG_QUALITY, quality)
    )
    if not done:
        raise UserError(f"A picture of shape {image.shape} cannot be stored as JPEG.")
    return decode_jpeg_accurately(np.asarray(data).tobytes())
