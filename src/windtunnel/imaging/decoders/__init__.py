"""Decoders: encoded bytes to pixels, one file each.

A decoder is the function `name(data, header, at_least)` in the file `name.py`, decorated with @decoder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.extras import load_extra
from windtunnel.core.images import Image
from windtunnel.core.registry import Plugin, Registry, file_of, is_shipped
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

# Width and height below which a decoder that scales while it decodes must not go.
Size = tuple[int, int]
DecodeFunction = Callable[[bytes, Header, Size], Any]


@dataclass(frozen=True)
class Decoder(Plugin):
    """A way from bytes to pixels.

    Attributes:
        function: from the bytes, their header and the size wanted later to uint8 height x width x RGB.
        help: what it is, in one line.
        formats: what it reads, as Pillow names formats; () for every supported format.
        library: what decodes, by its name on PyPI.
        needs: the module to import first, where its library does not come with windtunnel.
        scales: whether it may return a smaller image than the file holds.
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
        """The formats it reads, as messages name them: MPO is JPEG."""
        return ", ".join(dict.fromkeys("JPEG" if name in JPEG_FORMATS else name for name in self.formats))

    @cached_property
    def is_shipped(self) -> bool:
        """Whether the decoder comes with windtunnel."""
        return is_shipped(self.function)

    def assets(self) -> dict[str, str]:
        """The digest of the file of a decoder from outside, by what declares it."""
        digests = () if self.is_shipped else file_of(self.function).values()
        return {f"decoder {self.name}": digest for digest in digests}

    def pixels(self, data: bytes, header: Header, at_least: Size) -> Image:
        """The pixels of an image, in the orientation in which the library returns them."""
        try:
            found = self.function(data, header, at_least)
        except ImageError:
            raise
        except MemoryError as error:
            raise ImageError("too_large", f"{self.name}: there is not enough memory to decode it") from error
        except Exception as error:  # decoders raise what they like at damaged images
            raise ImageError("unreadable", f"{self.name}: {type(error).__name__}: {error}") from error
        return np.asarray(found, dtype=np.uint8) if self.is_shipped else self._checked(found)

    def _checked(self, found: object) -> Image:
        """What a decoder from outside returns, or one line on what it has to return."""
        if isinstance(found, np.ndarray) and found.dtype == np.uint8 and found.shape[2:] == (3,):
            return found
        given = f"{found.dtype} {found.shape}" if isinstance(found, np.ndarray) else type(found).__name__
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
    """Make a function from bytes to pixels a decoder."""

    def decorate(function: DecodeFunction) -> Decoder:
        return Decoder(function, help, tuple(formats), library, needs, scales, tuple(turns), rank)

    return decorate


REGISTRY = Registry("decoder", "windtunnel.imaging.decoders", Decoder, separator="-")


def decoders() -> list[Decoder]:
    """Every decoder, by rank."""
    return sorted(REGISTRY.all(), key=lambda one: (one.rank, one.name))


def require_decoder(name: str) -> Decoder:
    """The decoder of that name, or one line on what there is or how to install it."""
    found = REGISTRY.get(name)
    if found.needs:
        load_extra(found.needs, f"Decoder {name}")
    return found


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
        raise ImageError("unreadable", f"{decoder}: reads {found.formats_text} only, this is {header.format}")
    image = found.pixels(data, header, at_least)
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
