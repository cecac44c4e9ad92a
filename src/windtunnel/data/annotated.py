"""Datasets with annotated objects."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from windtunnel.core.annotations import Objects
from windtunnel.core.labels import LabelSpace
from windtunnel.core.samples import Surveyed
from windtunnel.core.wording import counted
from windtunnel.data import Dataset

# A number, or null for a number that is not one (json.dumps writes NaN, which is no JSON).
Coordinate = float | None


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

    @property
    def category_ids(self) -> Sequence[int | str]:
        """The ids of the categories in annotation files: from 1 in the order of the classes."""
        return tuple(range(1, len(self.label_space) + 1))

    def reader(self) -> Dataset:
        """The dataset without its annotations."""
        reader = copy.copy(self)
        reader._objects = {}
        return reader

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


@dataclass
class BoxFaults:
    """Annotations that are left out, counted by what is wrong with their boxes."""

    _counts: Counter[str] = field(default_factory=Counter)
    _first: dict[str, str] = field(default_factory=dict)

    def has(self, box: Sequence[Coordinate], where: str) -> bool:
        """Whether a box of left, top, width and height has a fault, which is counted."""
        reason = box_fault(box)
        if reason:
            self.add(reason, where)
        return bool(reason)

    def add(self, reason: str, where: str) -> None:
        """Count an annotation that is left out; `where` names it."""
        self._counts[reason] += 1
        self._first.setdefault(reason, where)

    @property
    def notes(self) -> list[str]:
        """A note for every fault, with the first annotation that has it."""
        return [
            f"{counted(count, 'annotation')} left out: the box {reason} (the first: {self._first[reason]})."
            for reason, count in self._counts.items()
        ]


def box_fault(box: Sequence[Coordinate]) -> str:
    """What is wrong with a box of left, top, width and height; "" for a sound one."""
    if len(box) != 4:
        return f"has {len(box)} numbers instead of 4"
    if any(value is None or not math.isfinite(value) for value in box):
        return "is not finite"
    if min(value or 0 for value in box[2:]) <= 0:
        return "has no area"
    return ""


def _has_declared_size(image: Surveyed) -> bool:
    meta = image.sample.meta
    declared = meta.get("width"), meta.get("height")
    return None in declared or {declared, declared[::-1]} & {(str(image.width), str(image.height))} != set()


def _is_outside(box: tuple[float, float, float, float], image: Surveyed) -> bool:
    left, top, width, height = box
    side = max(image.width, image.height)  # an orientation tag may exchange them
    return left >= side or top >= side or left + width <= 0 or top + height <= 0
