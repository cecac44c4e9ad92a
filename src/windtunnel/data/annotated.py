"""Datasets with annotated objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windtunnel.core.annotations import Objects
from windtunnel.core.labels import LabelSpace
from windtunnel.core.samples import Surveyed
from windtunnel.core.wording import counted
from windtunnel.data import Dataset


class AnnotatedDataset(Dataset):
    """Images with annotated objects. A subclass sets the attributes and calls `set_objects`."""

    name: str
    location: str
    label_space: LabelSpace
    portable = True
    parallel_reads = True

    def set_objects(self, objects: Mapping[str, Objects], notes: Sequence[str] = ()) -> None:
        """Set the objects of every image by its id, and notes on annotations that were left out."""
        self._objects, self._notes = dict(objects), tuple(notes)

    @property
    def annotations(self) -> Mapping[str, Objects]:
        """The objects of every image by its id."""
        return self._objects

    @property
    def notes(self) -> Sequence[str]:
        """Notes on annotations that were left out."""
        return self._notes

    def categories_of(self, id_: str) -> tuple[int, ...]:
        """The categories of an image's objects, each once: its labels for classifiers."""
        return tuple(sorted({thing.category for thing in self._objects.get(id_, ()) if not thing.crowd}))

    def check_content(self, readable: Sequence[Surveyed]) -> list[str]:
        """A note on images whose size is not the annotated one, and on boxes outside their image."""
        other = [image for image in readable if not _has_declared_size(image)]
        outside = [
            image.sample.id
            for image in readable
            for thing in self._objects.get(image.sample.id, ())
            if _is_outside(thing.box, image)
        ]
        notes = []
        if other:
            notes.append(
                f"{counted(len(other), 'image')} of another size than annotated (the first: "
                f"{other[0].sample.id}, {other[0].width}x{other[0].height}): check that the files belong to "
                "the annotations."
            )
        if outside:
            notes.append(
                f"{counted(len(outside), 'box', 'boxes')} wholly outside the image (the first in "
                f"{outside[0]}): no detection can match."
            )
        return notes


def _has_declared_size(image: Surveyed) -> bool:
    meta = image.sample.meta
    declared = meta.get("width"), meta.get("height")
    return None in declared or {declared, declared[::-1]} & {(str(image.width), str(image.height))} != set()


def _is_outside(box: tuple[float, float, float, float], image: Surveyed) -> bool:
    left, top, width, height = box
    side = max(image.width, image.height)  # an orientation tag may exchange them
    return left >= side or top >= side or left + width <= 0 or top + height <= 0
