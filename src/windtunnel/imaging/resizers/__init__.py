"""Resizers: pixels to a given size, one file per library; each declares its filters.

A resizer's name is library and filter (`pillow-bilinear`, `opencv-area`). A library is the function
`library(image, width, height, filter_)` in the file `library.py`, decorated with @resizer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.extras import load_extra
from windtunnel.core.images import Image
from windtunnel.core.registry import Plugin, Registry, file_of

# Libraries that declare no rank follow the shipped ones.
LAST = 100

ResizeFunction = Callable[[Image, int, int, Any], Any]


@dataclass(frozen=True)
class Resizer(Plugin):
    """A library that resizes, and its filters.

    Attributes:
        function: from an image, a width, a height and a filter to uint8 height x width x RGB.
        help: a description in one line.
        filters: by name, the value that the function takes as its filter.
        library: the library that resizes, by its name on PyPI.
        needs: the module to import first, if the library does not come with windtunnel.
        rank: position in `resize=*` and in listings; libraries of the same rank follow by name.
    """

    function: ResizeFunction
    help: str
    filters: Mapping[str, Any]
    library: str = ""
    needs: str = ""
    rank: int = LAST

    @property
    def name(self) -> str:
        """The function's name, with hyphens: the first part of its resizers' names."""
        return self.function.__name__.replace("_", "-")

    @cached_property
    def resizers(self) -> dict[str, Any]:
        """The filters by the resizers' names: the library's name and a filter's."""
        return {f"{self.name}-{filter_}": value for filter_, value in self.filters.items()}

    def assets(self) -> dict[str, str]:
        """The digest of the file of a third-party resizer, by the file's name; empty for shipped ones."""
        digests = () if self.is_shipped else file_of(self.function).values()
        return {f"resizer {self.name}": digest for digest in digests}

    def apply(self, image: Image, width: int, height: int, name: str) -> Image:
        """Resize with the resizer of that name.

        Third-party functions get a copy of the image, and their result is checked.
        """
        filter_ = self.resizers[name]
        if self.is_shipped:
            return np.asarray(self.function(image, width, height, filter_), dtype=np.uint8)
        try:
            resized = self.function(image.copy(), width, height, filter_)
        except Exception as error:  # of the user's code
            raise UserError(f"The resizer {name} failed: {type(error).__name__}: {error}.") from error
        wanted = (height, width, 3)
        if not isinstance(resized, np.ndarray) or resized.dtype != np.uint8 or resized.shape != wanted:
            given = (
                f"{resized.dtype} {resized.shape}"
                if isinstance(resized, np.ndarray)
                else type(resized).__name__
            )
            raise UserError(f"The resizer {name} returns {given}; it must return uint8 {wanted}.")
        return resized


def resizer(
    *,
    help: str,
    filters: Mapping[str, Any],
    library: str = "",
    needs: str = "",
    rank: int = LAST,
) -> Callable[[ResizeFunction], Resizer]:
    """Declare a function that resizes as a library of resizers."""

    def decorate(function: ResizeFunction) -> Resizer:
        return Resizer(function, help, dict(filters), library, needs, rank)

    return decorate


REGISTRY = Registry("resizer", "windtunnel.imaging.resizers", Resizer, separator="-")


def libraries() -> list[Resizer]:
    """Every library that resizes, by rank."""
    return sorted(REGISTRY.all(), key=lambda library: (library.rank, library.name))


def resizer_names() -> list[str]:
    """Every resizer's name: the libraries by rank, the filters as each declares them."""
    return [name for library in libraries() for name in library.resizers]


def library_of(name: str) -> Resizer:
    """The library that a resizer's name begins with; refuses an unknown one and lists the resizers."""
    first = name.partition("-")[0]
    # Most libraries' names have no hyphen: for those nothing else is imported.
    if first in REGISTRY and name in REGISTRY.get(first).resizers:
        return REGISTRY.get(first)
    for library in REGISTRY.all():
        if name in library.resizers:
            return library
    raise unknown_name("resizer", name, resizer_names(), REGISTRY.command)


def require_resizer(name: str) -> Resizer:
    """The library of a resizer; refuses one that does not exist or cannot be imported."""
    library = library_of(name)
    if library.needs:
        load_extra(library.needs, f"Resizing by {library.name}")
    return library


def resize(image: Image, width: int, height: int, resizer: str = "pillow-bilinear") -> Image:
    """Resize to exactly width x height; an image of that size is returned unchanged."""
    library = require_resizer(resizer)
    if image.shape[:2] == (height, width):
        return image
    return library.apply(image, width, height, resizer)
