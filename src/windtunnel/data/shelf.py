"""Shelves: access to the stored images of a precomputed set, one class per published layout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from windtunnel.core.images import Image
from windtunnel.core.labels import LabelSpace
from windtunnel.core.samples import Sample
from windtunnel.data import Dataset

# Unit and level.
Place = tuple[str, int]


class Shelf(Protocol):
    """The stored images of a precomputed set, by name, unit and level; `read` returns frame 0 of a clip.

    Attributes:
        by_row: whether images are identified by their row in an array and have no name.
        rare: ids of images that less than half of the corruptions have; they are left out.
    """

    by_row: bool

    @property
    def rare(self) -> frozenset[str]: ...

    @property
    def places(self) -> Sequence[Place]: ...
    @property
    def samples(self) -> Sequence[Sample]: ...
    @property
    def label_space(self) -> LabelSpace: ...
    @property
    def notes(self) -> Sequence[str]: ...
    def read(self, name: str, place: Place) -> bytes | Image: ...
    def digest(self) -> str: ...
    def clean(self) -> Dataset | None: ...


@runtime_checkable
class ClipShelf(Shelf, Protocol):
    """A shelf of sequences, with their codec, their number of frames and the frames of a clip."""

    @property
    def codec(self) -> str: ...
    def frames(self, place: Place) -> int: ...
    def clip(self, name: str, place: Place) -> Iterator[bytes | Image]: ...


def place_text(place: Place) -> str:
    """A place as users write it: `fog:3`, `seq/tilt`."""
    unit, level = place
    return f"{unit}:{level}" if level else unit
