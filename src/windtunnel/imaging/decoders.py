"""Decoders: encoded bytes to pixels, by library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import cv2
import numpy as np
import simplejpeg

from windtunnel.core.errors import ImageError, unknown_name
from windtunnel.core.extras import load_extra
from windtunnel.core.images import Image
from windtunnel.imaging.header import MAX_PIXELS, Header, open_by_pillow

# EXIF orientation to (flip left-right first, quarter turns counter-clockwise), from the EXIF standard.
ORIENTATIONS: dict[int, tuple[bool, int]] = {
    1: (False, 0),
    2: (True, 0),
    3: (False, 2),
    4: (True, 2),
    5: (True, 1),
    6: (False, 3),
    7: (True, 3),
    8: (False, 1),
}


# What FFmpeg calls the decoder of a format that Pillow names. It takes half a GIF for a whole one, and of
# TIFFs it either refuses sound ones for a tag it does not know or makes black images of damaged strips.
FFMPEG_CODECS = {
    "JPEG": "mjpeg",
    "MPO": "mjpeg",
    "PNG": "png",
    "WEBP": "webp",
    "BMP": "bmp",
}
JPEG_FORMATS = ("JPEG", "MPO")
# Pixels that are converted at a time.
BAND_PIXELS = 2**20

# Width and height below which a decoder that scales while it decodes must not go.
Size = tuple[int, int]


@dataclass(frozen=True)
class Decoder:
    """A way from bytes to pixels.

    Attributes:
        call: from the bytes, their header and the size wanted later to pixels.
        formats: what it reads, as Pillow names formats; () for every supported format.
        library: what an extra brings for it; "" for none.
        scales: whether it may hand out a smaller image than the file holds.
        turns: formats whose orientation its library applies whatever it is asked for.
    """

    call: Callable[[bytes, Header, Size], Any]
    formats: tuple[str, ...] = ()
    library: str = ""
    scales: bool = False
    turns: tuple[str, ...] = ()


def decode(
    data: bytes, header: Header, decoder: str = "pillow", exif: str = "ignore", at_least: Size = (0, 0)
) -> Image:
    """Decode an image; `exif` says whether its orientation tag is applied or ignored.

    The orientation is applied here for every decoder alike, so that a change of decoder never turns an
    image; what a library turns of itself is turned back first. An image that comes out in another size
    than its header says is refused. `at_least` is the width and height needed later, as the image is
    stored: only decoders that scale while they decode look at it.
    """
    found = require_decoder(decoder)
    if found.formats and header.format not in found.formats:
        kinds = ", ".join(dict.fromkeys("JPEG" if name in JPEG_FORMATS else name for name in found.formats))
        raise ImageError("unreadable", f"{decoder}: reads {kinds} only, this is {header.format}")
    try:
        image = np.asarray(found.call(data, header, at_least), dtype=np.uint8)
    except ImageError:
        raise
    except MemoryError as error:
        raise ImageError("too_large", f"{decoder}: there is not enough memory to decode it") from error
    except Exception as error:  # decoders raise what they like at damaged images
        raise ImageError("unreadable", f"{decoder}: {type(error).__name__}: {error}") from error
    flip, quarters = ORIENTATIONS[header.orientation]
    if header.format in found.turns:
        image = np.rot90(image, -quarters)
        image = image[:, ::-1] if flip else image
    height, width = image.shape[:2]
    if (width, height) != (header.width, header.height) and not found.scales:
        raise ImageError(
            "unreadable",
            f"{decoder}: decodes {width}x{height} where the header says {header.width}x{header.height}",
        )
    if exif == "apply":
        image = np.rot90(image[:, ::-1] if flip else image, quarters)
    return np.ascontiguousarray(image)


def require_decoder(name: str) -> Decoder:
    """The decoder of that name, or one line on what there is or how to install it."""
    if name not in DECODERS:
        raise unknown_name("decoder", name, DECODERS)
    if DECODERS[name].library:
        load_extra(DECODERS[name].library, f"Decoder {name}")
    return DECODERS[name]


def _pillow(data: bytes, header: Header, _at_least: Size) -> Image:
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
                # Pillow's own conversion clips at 255; the high byte is what other decoders give.
                pixels[top : top + rows] = (np.asarray(band) >> 8).astype(np.uint8)[:, :, None]
            else:
                pixels[top : top + rows] = np.asarray(band.convert("RGB"))
        return pixels


def _opencv(data: bytes, _header: Header, _at_least: Size) -> Any:
    flags = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION
    image = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    if image is None:
        raise ImageError("unreadable", "opencv: cannot decode this image")
    return image


def _ffmpeg(data: bytes, header: Header, _at_least: Size) -> Any:
    import av

    codec: Any = av.CodecContext.create(FFMPEG_CODECS[header.format], "r")
    codec.thread_count = 1  # workers are processes already
    # A truncated image is refused, as by every other decoder.
    codec.options = {"err_detect": "explode", "max_pixels": str(MAX_PIXELS)}
    # Some decoders hand out an image only when told that no more bytes follow.
    frames = codec.decode(av.Packet(data)) or codec.decode(None)
    if not frames:
        raise ImageError("unreadable", "ffmpeg: no image comes out")
    return frames[0].to_ndarray(format="rgb24")


def _simplejpeg(data: bytes, _header: Header, _at_least: Size, **switches: bool) -> Any:
    return simplejpeg.decode_jpeg(data, colorspace="RGB", **{**ACCURATE, **switches})


def _simplejpeg_scaled(data: bytes, _header: Header, at_least: Size) -> Any:
    width, height = at_least
    return simplejpeg.decode_jpeg(data, colorspace="RGB", min_width=width, min_height=height, **ACCURATE)


# libjpeg-turbo's accurate transforms: the same bits as Pillow.
ACCURATE: Mapping[str, Any] = {"fastdct": False, "fastupsample": False}


def decode_jpeg_accurately(data: bytes) -> Image:
    """Decode a JPEG by libjpeg-turbo's accurate transforms: the same bits as Pillow."""
    return np.asarray(simplejpeg.decode_jpeg(data, colorspace="RGB", **ACCURATE), dtype=np.uint8)


DECODERS: dict[str, Decoder] = {
    "pillow": Decoder(_pillow, turns=("TIFF",)),
    "opencv": Decoder(_opencv, turns=("TIFF",)),  # despite IMREAD_IGNORE_ORIENTATION
    "ffmpeg": Decoder(_ffmpeg, tuple(FFMPEG_CODECS), library="av"),
    "simplejpeg": Decoder(_simplejpeg, JPEG_FORMATS),
    "simplejpeg-fastdct": Decoder(partial(_simplejpeg, fastdct=True), JPEG_FORMATS),
    "simplejpeg-fastupsample": Decoder(partial(_simplejpeg, fastupsample=True), JPEG_FORMATS),
    "simplejpeg-scaled": Decoder(_simplejpeg_scaled, JPEG_FORMATS, scales=True),
}
