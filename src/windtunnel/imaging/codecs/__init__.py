"""Codecs: what storing an image does to it, one file each (`none`, `png`, `jpeg:85`).

A codec is the function `name(image)` or, with a parameter, `name(image, value)` in the file `name.py`,
decorated with @codec. It returns the content of a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.images import Image
from windtunnel.core.registry import Plugin, Registry, file_of, is_shipped
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.header import read_header

EncodeFunction = Callable[..., bytes]
DecodeFunction = Callable[[bytes], Image]


@dataclass(frozen=True)
class Parameter:
    """A whole number that a codec takes after a colon: its name and the values it may have."""

    name: str
    least: int
    most: int

    def read(self, text: str) -> int | None:
        """The number a text stands for; None where it is none of the allowed ones."""
        return int(text) if text.isdecimal() and self.least <= int(text) <= self.most else None


@dataclass(frozen=True)
class Codec(Plugin):
    """A way to store an image and to read it again.

    Attributes:
        function: from an image, and the parameter if there is one, to the content of a file.
        help: what it is, in one line.
        suffix: how files end, in ImageNet's spelling.
        decode: from the content of a file to its pixels.
        parameter: what it takes after a colon, such as a quality; None for nothing.
        lossless: whether the pixels that are read are the ones that were stored.
    """

    function: EncodeFunction
    help: str
    suffix: str
    decode: DecodeFunction
    parameter: Parameter | None = None
    lossless: bool = False

    @property
    def name(self) -> str:
        """The function's name, with hyphens."""
        return self.function.__name__.replace("_", "-")

    @property
    def written(self) -> str:
        """How users write it: `png`, `jpeg:QUALITY`."""
        return f"{self.name}:{self.parameter.name.upper()}" if self.parameter else self.name

    @cached_property
    def is_shipped(self) -> bool:
        """Whether the codec comes with windtunnel."""
        return is_shipped(self.function)

    def assets(self) -> dict[str, str]:
        """The digest of the file of a codec from outside, by what declares it."""
        digests = () if self.is_shipped else file_of(self.function).values()
        return {f"codec {self.name}": digest for digest in digests}

    def encode(self, image: Image, *values: int) -> bytes:
        """An image as the content of a file; codecs from outside get a copy, and their result is checked."""
        if self.is_shipped:
            return self.function(image, *values)
        try:
            found = self.function(image.copy(), *values)
        except Exception as error:  # the user's own code
            raise UserError(f"The codec {self.name} failed: {type(error).__name__}: {error}.") from error
        if not isinstance(found, bytes):
            raise UserError(f"The codec {self.name} returns {type(found).__name__}; it must return bytes.")
        return found

    def round_trip(self, image: Image, *values: int) -> Image:
        """The image after it has been stored and read again."""
        if self.lossless:
            return image
        content = self.encode(image, *values)
        if self.is_shipped:
            return self.decode(content)
        try:
            found = self.decode(content)
        except Exception as error:  # the user's own code, or bytes that are no image
            reason = error.reason if isinstance(error, ImageError) else f"{type(error).__name__}: {error}"
            raise UserError(f"What the codec {self.name} stores cannot be read: {reason}.") from error
        if not isinstance(found, np.ndarray) or found.dtype != np.uint8 or found.shape != image.shape:
            given = f"{found.dtype} {found.shape}" if isinstance(found, np.ndarray) else type(found).__name__
            raise UserError(
                f"The codec {self.name} reads {given} for uint8 {image.shape}; it must read the same."
            )
        return found


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
) -> Callable[[EncodeFunction], Codec]:
    """Make a function from an image to a file's content a codec."""

    def decorate(function: EncodeFunction) -> Codec:
        return Codec(function, help, suffix, decode, parameter, lossless)

    return decorate


REGISTRY = Registry("codec", "windtunnel.imaging.codecs", Codec, separator="-")


def check_codec(codec: str, others: Sequence[str] = ()) -> str:
    """Return a codec's canonical name, or say what codecs there are, `others` known elsewhere among them."""
    name, colon, text = codec.partition(":")
    if name in REGISTRY:
        parameter = REGISTRY.get(name).parameter
        if parameter is None and not colon:
            return name
        if parameter is not None and (value := parameter.read(text)) is not None:
            return f"{name}:{value}"
    known = [one.written for one in REGISTRY.all() if not one.parameter]
    ranges = [
        f"{one.written} with a {one.parameter.name} from {one.parameter.least} to {one.parameter.most}"
        for one in REGISTRY.all()
        if one.parameter
    ]
    raise UserError(
        f"Unknown codec '{codec}'. Give {', '.join((*known, *others))}, or {', or '.join(ranges)}."
    )


def is_lossless(codec: str) -> bool:
    """Whether a codec of this windtunnel keeps every pixel; False for one that is not known here."""
    name = codec.partition(":")[0]
    return name in REGISTRY and REGISTRY.get(name).lossless


def round_trip(image: Image, codec: str) -> Image:
    """The image after it has been stored with a codec and read again."""
    found, values = _parsed(codec)
    return found.round_trip(image, *values)


def encode(image: Image, codec: str) -> bytes:
    """An image as a file's content."""
    found, values = _parsed(codec)
    return found.encode(image, *values)


def suffix_of(codec: str) -> str:
    """How files of a codec end, in ImageNet's spelling."""
    return _parsed(codec)[0].suffix


def codec_assets(codec: str) -> dict[str, str]:
    """The digest of the file of a codec from outside; nothing of shipped ones and of other names."""
    name = codec.partition(":")[0]
    return REGISTRY.get(name).assets() if name in REGISTRY else {}


def _parsed(codec: str) -> tuple[Codec, tuple[int, ...]]:
    """A checked codec's plug-in, and its parameter where it has one."""
    name, colon, text = codec.partition(":")
    return REGISTRY.get(name), (int(text),) if colon else ()
