"""Where the images of a finished set are stored: one shelf per published layout."""

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
    """Where a finished set keeps its images: by name, unit and level; of a clip `read` is frame 0.

    Attributes:
        by_row: whether images have no name but their place in an array.
        rare: ids of images that under half of the corruptions have, which are left out.
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
    def remarks(self) -> Sequence[str]: ...
    def read(self, name: str, place: Place) -> bytes | Image: ...
    def digest(self) -> str: ...
    def clean(self) -> Dataset | None: ...


@runtime_checkable
class ClipShelf(Shelf, Protocol):
    """A shelf of sequences: how they are stored, how many frames each has, and the frames of an image's."""

    @property
    def codec(self) -> str: ...
    def frames(self, place: Place) -> int: ...
    def clip(self, name: str, place: Place) -> Iterator[bytes | Image]: ...


def place_text(place: Place) -> str:
    """How people write a place: `fog:3`, `seq/tilt`."""
    unit, level = place
    return f"{unit}:{level}" if level else unit
