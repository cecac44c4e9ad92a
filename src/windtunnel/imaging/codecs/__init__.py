"""Codecs: the effect of storing an image, one file each (`none`, `png`, `jpeg:85`).

A codec is the function `name(image)` or, with a parameter, `name(image, value)` in the file `name.py`,
decorated with @codec. It returns the content of a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.images import Image
from windtunnel.core.registry import Plugin, Registry, file_of
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.header import read_header

EncodeFunction = Callable[..., bytes]
DecodeFunction = Callable[[bytes], Image]
PixelFunction = Callable[..., Image]


@dataclass(frozen=True)
class Parameter:
    """A whole number that a codec takes after a colon: its name and the values it may have."""

    name: str
    least: int
    most: int

    def read(self, text: str) -> int | None:
        """The number in a text; None if it is not one of the allowed ones."""
        return int(text) if text.isdecimal() and self.least <= int(text) <= self.most else None


@dataclass(frozen=True)
class Codec(Plugin):
    """A way to store an image and to read it again.

    Attributes:
        function: from an image, and the parameter if there is one, to the content of a file.
        help: a description in one line.
        suffix: the suffix of files, in ImageNet's spelling.
        decode: from the content of a file to its pixels.
        parameter: the number after a colon, such as a quality; None for no parameter.
        lossless: whether reading returns exactly the stored pixels.
        pixels: from an image and the parameter to the pixels that reading would return, if that is faster
            than a file; None to encode and decode.
    """

    function: EncodeFunction
    help: str
    suffix: str
    decode: DecodeFunction
    parameter: Parameter | None = None
    lossless: bool = False
    pixels: PixelFunction | None = None

    @property
    def name(self) -> str:
        """The function's name, with hyphens."""
        return self.function.__name__.replace("_", "-")

    @property
    def written(self) -> str:
        """How users write it: `png`, `jpeg:QUALITY`."""
        return f"{self.name}:{self.parameter.name.upper()}" if self.parameter else self.name

    def assets(self) -> dict[str, str]:
        """The digest of the file of a third-party codec, by the file's name; empty for shipped ones."""
        digests = () if self.is_shipped else file_of(self.function).values()
        return {f"codec {self.name}": digest for digest in digests}

    def encode(self, image: Image, *values: int) -> bytes:
        """An image as the content of a file; third-party codecs get a copy, and their result is checked."""
        if self.is_shipped:
            return self.function(image, *values)
        try:
            content = self.function(image.copy(), *values)
        except Exception as error:  # of the user's code
            raise UserError(f"The codec {self.name} failed: {type(error).__name__}: {error}.") from error
        if not isinstance(content, bytes):
            raise UserError(f"The codec {self.name} returns {type(content).__name__}; it must return bytes.")
        return content

    def round_trip(self, image: Image, *values: int) -> Image:
        """The image after it has been stored and read again."""
        if self.lossless:
            return image
        if self.pixels is not None and self.is_shipped:
            return self.pixels(image, *values)
        content = self.encode(image, *values)
        if self.is_shipped:
            return self.decode(content)
        try:
            pixels = self.decode(content)
        except Exception as error:  # of the user's code, or bytes that are not an image
            reason = error.reason if isinstance(error, ImageError) else f"{type(error).__name__}: {error}"
            raise UserError(
                f"The content that the codec {self.name} stores is unreadable: {reason}."
            ) from error
        if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or pixels.shape != image.shape:
            given = (
                f"{pixels.dtype} {pixels.shape}" if isinstance(pixels, np.ndarray) else type(pixels).__name__
            )
            raise UserError(
                f"The codec {self.name} reads {given} for uint8 {image.shape}; it must return the same."
            )
        return pixels


def read_by_pillow(content: bytes) -> Image:
    """The pixels of a file in a supported format."""
    return decode(content, read_header(content))


def codec(
    *,
    help: str,
    suffix: str,
    decode: DecodeFunction = read_by_pillow,
    parameter: Parameter | None = None,
    lossless: bool = False,
    pixels: PixelFunction | None = None,
) -> Callable[[EncodeFunction], Codec]:
    """Declare a function from an image to a file's content as a codec."""

    def decorate(function: EncodeFunction) -> Codec:
        return Codec(function, help, suffix, decode, parameter, lossless, pixels)

    return decorate


REGISTRY = Registry("codec", "windtunnel.imaging.codecs", Codec, separator="-")


def check_codec(codec: str, others: Sequence[str] = ()) -> str:
    """A codec's canonical name; refuses an unknown one and lists the codecs, including `others`."""
    name, colon, text = codec.partition(":")
    if name in REGISTRY:
        parameter = REGISTRY.get(name).parameter
        if parameter is None and not colon:
            return name
        if parameter is not None and (value := parameter.read(text)) is not None:
            return f"{name}:{value}"
    known = [plugin.written for plugin in REGISTRY.all() if not plugin.parameter]
    ranges = [
        f"{plugin.written} with a {plugin.parameter.name} from {plugin.parameter.least} to "
        f"{plugin.parameter.most}"
        for plugin in REGISTRY.all()
        if plugin.parameter
    ]
    raise UserError(
        f"Unknown codec '{codec}'. Give {', '.join((*known, *others))}, or {', or '.join(ranges)}."
    )


def is_lossless(codec: str) -> bool:
    """Whether a codec keeps every pixel; False for an unknown codec."""
    name = codec.partition(":")[0]
    return name in REGISTRY and REGISTRY.get(name).lossless


def round_trip(image: Image, codec: str) -> Image:
    """The image after it has been stored with a codec and read again."""
    plugin, values = _parsed(codec)
    return plugin.round_trip(image, *values)


def encode(image: Image, codec: str) -> bytes:
    """An image as a file's content."""
    plugin, values = _parsed(codec)
    return plugin.encode(image, *values)


def suffix_of(codec: str) -> str:
    """The suffix of a codec's files, in ImageNet's spelling."""
    return _parsed(codec)[0].suffix


def codec_assets(codec: str) -> dict[str, str]:
    """The digest of the file of a third-party codec; empty for shipped and unknown ones."""
    name = codec.partition(":")[0]
    return REGISTRY.get(name).assets() if name in REGISTRY else {}


def _parsed(codec: str) -> tuple[Codec, tuple[int, ...]]:
    """The plug-in of a checked codec, and its parameter if it has one."""
    name, colon, text = codec.partition(":")
    return REGISTRY.get(name), (int(text),) if colon else ()
