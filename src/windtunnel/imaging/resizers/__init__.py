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
from windtunnel.core.registry import Plugin, Registry, file_of, is_shipped

# Libraries that declare no rank follow the shipped ones.
LAST = 100

ResizeFunction = Callable[[Image, int, int, Any], Any]


@dataclass(frozen=True)
class Resizer(Plugin):
    """A library that resizes, and its filters.

    Attributes:
        function: from an image, a width, a height and a filter to uint8 height x width x RGB.
        help: what it is, in one line.
        filters: by name, what the function is given as its filter.
        library: what resizes, by its name on PyPI.
        needs: the module to import first, where the library does not come with windtunnel.
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

    @cached_property
    def is_shipped(self) -> bool:
        """Whether the library's file comes with windtunnel."""
        return is_shipped(self.function)

    def assets(self) -> dict[str, str]:
        """The digest of the file of a resizer from outside, by what declares it."""
        digests = () if self.is_shipped else file_of(self.function).values()
        return {f"resizer {self.name}": digest for digest in digests}

    def apply(self, image: Image, width: int, height: int, name: str) -> Image:
        """Resize by the resizer of that name.

        Functions from outside are not trusted with the image: they get a copy, and their result is checked.
        """
        filter_ = self.resizers[name]
        if self.is_shipped:
            return np.asarray(self.function(image, width, height, filter_), dtype=np.uint8)
        try:
            found = self.function(image.copy(), width, height, filter_)
        except Exception as error:  # the user's own code
            raise UserError(f"The resizer {name} failed: {type(error).__name__}: {error}.") from error
        wanted = (height, width, 3)
        if not isinstance(found, np.ndarray) or found.dtype != np.uint8 or found.shape != wanted:
            given = f"{found.dtype} {found.shape}" if isinstance(found, np.ndarray) else type(found).__name__
            raise UserError(f"The resizer {name} returns {given}; it must return uint8 {wanted}.")
        return found


def resizer(
    *,
    help: str,
    filters: Mapping[str, Any],
    library: str = "",
    needs: str = "",
    rank: int = LAST,
) -> Callable[[ResizeFunction], Resizer]:
    """Make a function that resizes a library of resizers."""

    def decorate(function: ResizeFunction) -> Resizer:
        return Resizer(function, help, dict(filters), library, needs, rank)

    return decorate


REGISTRY = Registry("resizer", "windtunnel.imaging.resizers", Resizer, separator="-")


def libraries() -> list[Resizer]:
    """Every library that resizes, by rank."""
    return sorted(REGISTRY.all(), key=lambda one: (one.rank, one.name))


def resizer_names() -> list[str]:
    """Every resizer's name: the libraries by rank, the filters as each declares them."""
    return [name for one in libraries() for name in one.resizers]


def library_of(name: str) -> Resizer:
    """The library that a resizer's name begins with, or one line on what resizers there are."""
    first = name.partition("-")[0]
    # Most libraries' names have no hyphen: nothing else is imported for those.
    if first in REGISTRY and name in REGISTRY.get(first).resizers:
        return REGISTRY.get(first)
    for one in REGISTRY.all():
        if name in one.resizers:
            return one
    raise unknown_name("resizer", name, resizer_names(), REGISTRY.command)


def require_resizer(name: str) -> Resizer:
    """The library of a resizer; one that does not exist or cannot be imported is refused in one line."""
    found = library_of(name)
    if found.needs:
        load_extra(found.needs, f"Resizing by {found.name}")
    return found


def resize(image: Image, width: int, height: int, resizer: str = "pillow-bilinear") -> Image:
    """Resize to exactly width x height; an image that already has that size is returned as it is."""
    found = require_resizer(resizer)
    if image.shape[:2] == (height, width):
        return image
    return found.apply(image, width, height, resizer)
