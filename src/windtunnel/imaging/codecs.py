"""Codecs: what storing an image does to it (`none`, `png`, `jpeg:85`)."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from windtunnel.core.errors import UserError
from windtunnel.core.images import Image
from windtunnel.imaging.decoders import decode_jpeg_accurately

LOSSLESS = ("none", "png")


def check_codec(codec: str, others: Sequence[str] = ()) -> str:
    """Return a codec's canonical name, or say what codecs there are, `others` known elsewhere among them."""
    if codec in LOSSLESS:
        return codec
    name, _, quality = codec.partition(":")
    if name == "jpeg" and quality.isdecimal() and 1 <= int(quality) <= 100:
        return f"jpeg:{int(quality)}"
    known = ", ".join((*LOSSLESS, *others))
    raise UserError(f"Unknown codec '{codec}'. Give {known}, or jpeg:QUALITY with a quality from 1 to 100.")


def round_trip(image: Image, codec: str) -> Image:
    """The image after it has been stored with a codec and read again."""
    if codec in LOSSLESS:
        return image
    return jpeg_round_trip(image, int(codec.partition(":")[2]))


def jpeg_round_trip(image: Image, quality: int) -> Image:
    """Encode as Pillow does by default (baseline, 4:2:0) and decode: the same pixels, in less time."""
    return decode_jpeg_accurately(encode(image, f"jpeg:{quality}"))


def encode(image: Image, codec: str) -> bytes:
    """An image as a file's content: JPEG of a quality, or lossless PNG."""
    kind, _, quality = codec.partition(":")
    options = (cv2.IMWRITE_JPEG_QUALITY, int(quality)) if kind == "jpeg" else (cv2.IMWRITE_PNG_COMPRESSION, 3)
    done, data = cv2.imencode(suffix_of(codec), cv2.cvtColor(image, cv2.COLOR_RGB2BGR), options)
    if not done:
        raise UserError(f"An image of shape {image.shape} cannot be stored as {codec}.")
    return np.asarray(data).tobytes()


def suffix_of(codec: str) -> str:
    """How files of a codec end, in ImageNet's spelling."""
    return ".JPEG" if codec.startswith("jpeg:") else ".png"
