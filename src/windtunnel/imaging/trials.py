"""Trials of decoders, resizers and codecs: the result of each on one image."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

from PIL import Image as PillowImage

from windtunnel.core.errors import ImageError, UserError
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
    """The bytes of the pixels that a plug-in makes from an image.

    A result of a wrong type, dtype or shape is a UserError, and so is a decoder that reads none of the files
    that the image and parts of it are stored in.
    """
    if isinstance(plugin, Resizer):
        height, width = image.shape[:2]
        return resize(image, width // 2 + 1, height // 3 + 1, name).tobytes()
    if isinstance(plugin, Codec):
        return round_trip(image, name).tobytes()
    contents = list(_encoded(plugin, image))
    results, errors = [], []
    for content in contents:
        try:
            header = read_header(content)
            results.append(decode(content, header, name, at_least=(header.width, header.height)).tobytes())
        except ImageError as error:  # an unreadable image is a row of a run
            results.append(b"unreadable")
            errors.append(error.reason)
    if errors and len(errors) == len(contents):
        reason = errors[0].removeprefix(f"{name}: ").rstrip(".")
        raise UserError(
            f"The decoder {name} reads none of {len(contents)} images that it was tried on: {reason}. "
            "Correct it, or declare the formats that it reads."
        )
    return b"\0".join(results)


def _encoded(plugin: Decoder, image: Image) -> Iterator[bytes]:
    """Files of the image and of parts of it, in the formats that a decoder declares."""
    height, width = image.shape[:2]
    for format_ in plugin.formats or WRITABLE:
        for rows, columns in ((height, width), (height // 2 + 1, width), (height, width // 2 + 1)):
            if format_ in WRITABLE:
                stored = io.BytesIO()
                PillowImage.fromarray(image[:rows, :columns]).save(stored, format_)
                yield stored.getvalue()
