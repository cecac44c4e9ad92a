"""Decoders: encoded bytes to pixels, one file each.

A decoder is the function `name(data, header, at_least)` in the file `name.py`, decorated with @decoder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.extras import load_extra
from windtunnel.core.images import Image
from windtunnel.core.registry import Plugin, Registry, file_of
from windtunnel.imaging.header import Header

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
JPEG_FORMATS = ("JPEG", "MPO")
# Decoders that declare no rank follow the shipped ones.
LAST = 100

# The smallest width and height that a decoder which scales may return.
Size = tuple[int, int]
DecodeFunction = Callable[[bytes, Header, Size], Any]


@dataclass(frozen=True)
class Decoder(Plugin):
    """A function from bytes to pixels, and the facts about it.

    Attributes:
        function: from the bytes, their header and the size needed later to uint8 height x width x RGB.
        help: a description in one line.
        formats: the formats it reads, by Pillow's names; () for every supported format.
        library: the library that decodes, by its name on PyPI.
        needs: the module to import first, if its library does not come with windtunnel.
        scales: whether it may return a smaller image than the stored one.
        turns: formats whose orientation its library applies regardless of its options.
        rank: position in `decode=*` and in listings; decoders of the same rank follow by name.
    """

    function: DecodeFunction
    help: str
    formats: tuple[str, ...] = ()
    library: str = ""
    needs: str = ""
    scales: bool = False
    turns: tuple[str, ...] = ()
    rank: int = LAST

    @property
    def name(self) -> str:
        """The function's name, with hyphens."""
        return self.function.__name__.replace("_", "-")

    @property
    def formats_text(self) -> str:
        """The formats it reads, for messages: MPO is JPEG."""
        return ", ".join(dict.fromkeys("JPEG" if name in JPEG_FORMATS else name for name in self.formats))

    def assets(self) -> dict[str, str]:
        """The digest of the file of a third-party decoder, by the file's name; empty for shipped ones."""
        digests = () if self.is_shipped else file_of(self.function).values()
        return {f"decoder {self.name}": digest for digest in digests}

    def pixels(self, data: bytes, header: Header, at_least: Size) -> Image:
        """The pixels of an image, in the orientation in which the library returns them."""
        try:
            decoded = self.function(data, header, at_least)
        except ImageError:
            raise
        except MemoryError as error:
            raise ImageError("too_large", f"{self.name}: there is not enough memory to decode it") from error
        except Exception as error:  # decoders raise any kind of error for damaged images
            raise ImageError("unreadable", f"{self.name}: {type(error).__name__}: {error}") from error
        return np.asarray(decoded, dtype=np.uint8) if self.is_shipped else self._checked(decoded)

    def _checked(self, decoded: object) -> Image:
        """The pixels from a third-party decoder; refuses other results."""
        if isinstance(decoded, np.ndarray) and decoded.dtype == np.uint8 and decoded.shape[2:] == (3,):
            return decoded
        given = (
            f"{decoded.dtype} {decoded.shape}" if isinstance(decoded, np.ndarray) else type(decoded).__name__
        )
        raise UserError(
            f"The decoder {self.name} returns {given}; it must return a uint8 array of shape "
            "(height, width, 3)."
        )


def decoder(
    *,
    help: str,
    formats: Sequence[str] = (),
    library: str = "",
    needs: str = "",
    scales: bool = False,
    turns: Sequence[str] = (),
    rank: int = LAST,
) -> Callable[[DecodeFunction], Decoder]:
    """Declare a function from bytes to pixels as a decoder."""

    def decorate(function: DecodeFunction) -> Decoder:
        return Decoder(function, help, tuple(formats), library, needs, scales, tuple(turns), rank)

    return decorate


REGISTRY = Registry("decoder", "windtunnel.imaging.decoders", Decoder, separator="-")


def decoders() -> list[Decoder]:
    """Every decoder, by rank."""
    return sorted(REGISTRY.all(), key=lambda plugin: (plugin.rank, plugin.name))


def require_decoder(name: str) -> Decoder:
    """The decoder of that name; refuses one that is unknown or cannot be imported."""
    plugin = REGISTRY.get(name)
    if plugin.needs:
        load_extra(plugin.needs, f"Decoder {name}")
    return plugin


def decode(
    data: bytes, header: Header, decoder: str = "pillow", exif: str = "ignore", at_least: Size = (0, 0)
) -> Image:
    """Decode an image; `exif` decides whether its orientation tag is applied or ignored.

    The orientation is applied here for all decoders, so that a change of decoder never rotates an image; a
    rotation by a library is undone first. An image of another size than in its header is refused.
    `at_least` is the width and height needed later, before rotation: only decoders that scale use it.
    """
    plugin = require_decoder(decoder)
    if plugin.formats and header.format not in plugin.formats:
        raise ImageError(
            "unreadable", f"{decoder}: reads {plugin.formats_text} only, this is {header.format}"
        )
    image = plugin.pixels(data, header, at_least)
    flip, quarters = ORIENTATIONS[header.orientation]
    if header.format in plugin.turns:
        image = np.rot90(image, -quarters)
        image = image[:, ::-1] if flip else image
    height, width = image.shape[:2]
    if (width, height) != (header.width, header.height) and not plugin.scales:
        raise ImageError(
            "unreadable",
            f"{decoder}: decodes {width}x{height}, but the header has {header.width}x{header.height}",
        )
    if exif == "apply":
        image = np.rot90(image[:, ::-1] if flip else image, quarters)
    return np.ascontiguousarray(image)
