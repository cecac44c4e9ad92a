"""Trials of decoders, resizers and codecs: the result of each on one image."""

from __future__ import annotations

import io
from collections.abc import Callable

from PIL import Image as PillowImage

from windtunnel.core.errors import ImageError
from windtunnel.core.images import Image
from windtunnel.imaging.codecs import REGISTRY as CODECS
from windtunnel.imaging.codecs import Codec, round_trip
from windtunnel.imaging.decoders import REGISTRY as DECODERS
from windtunnel.imaging.decoders import Decoder, decode
from windtunnel.imaging.header import read_header
from windtunnel.imaging.resizers import Resizer, library_of, resize

ImagingPlugin = Decoder | Resizer | Codec

# Formats that a trial can be written in.
WRITABLE = ("JPEG", "PNG", "WEBP", "BMP", "TIFF", "GIF", "PPM")

_FINDERS: dict[str, Callable[[str], ImagingPlugin]] = {
    "decoder": DECODERS.get,
    "resizer": library_of,
    "codec": lambda name: CODECS.get(name.partition(":")[0]),
}


def imaging_plugin(kind: str, name: str) -> ImagingPlugin:
    """The plug-in of a name: a `decoder`, a `resizer` or a `codec` with its parameter."""
    return _FINDERS[kind](name)


def try_out(plugin: ImagingPlugin, name: str, image: Image) -> bytes:
    """The bytes of the pixels that a plug-in makes from an image; for a decoder that fails, its reason.

    A result of a wrong type, dtype or shape is a UserError.
    """
    if isinstance(plugin, Resizer):
        height, width = image.shape[:2]
        return resize(image, width // 2 + 1, height // 3 + 1, name).tobytes()
    if isinstance(plugin, Codec):
        return round_trip(image, name).tobytes()
    format_ = next((format_name for format_name in plugin.formats or WRITABLE if format_name in WRITABLE), "")
    if not format_:
        return b""
    stored = io.BytesIO()
    PillowImage.fromarray(image).save(stored, format_)
    content = stored.getvalue()
    try:
        return decode(content, read_header(content), name, at_least=image.shape[1::-1]).tobytes()
    except ImageError as error:  # an unreadable image is a row of a run
        return error.reason.encode()
