"""The split of subtypes into seen and unseen, and of the images of seen ones into training and held-out."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.samples import Surveyed
from windtunnel.core.seeding import digest64
from windtunnel.core.wording import counted, listed
from windtunnel.data.class_types import COLUMNS, NAMED, ClassTypes, Part

LEAST_TYPES = 2
LEAST_IMAGES = 2


@dataclass(frozen=True)
class Subtype:
    """A class with its type, and whether models are trained on it (seen) or only tested (unseen)."""

    name: str
    type: str
    part: Part


@dataclass(frozen=True)
class SubtypeSplit:
    """The subtypes of a study, by type, part and name.

    Attributes:
        notes: notes for the user on classes and types that are left out.
    """

    subtypes: tuple[Subtype, ...]
    notes: tuple[str, ...] = ()

    @property
    def types(self) -> tuple[str, ...]:
        """The types in the order of the models' outputs."""
        return tuple(sorted({subtype.type for subtype in self.subtypes}))

    def of_part(self, part: Part) -> tuple[str, ...]:
        """The names of the seen or of the unseen subtypes."""
        return tuple(sorted(subtype.name for subtype in self.subtypes if subtype.part == part))

    def to_csv(self) -> str:
        """The split as a table that the option `hierarchy` takes."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([subtype.name, subtype.type, subtype.part] for subtype in self.subtypes)
        return out.getvalue()


def split_subtypes(
    classes: ClassTypes, images: Counter[str], seen: Collection[str] | None, share: float, seed: int
) -> SubtypeSplit:
    """The seen and the unseen subtypes of each type.

    Subtypes are seen or unseen as `seen` or the table of types says; else the given share of every type's
    subtypes is seen, chosen at random, at least one on each side.

    Args:
        classes: the type of every class.
        images: the number of readable images of every class.
        seen: the seen classes; None if they are not given.
        share: the share of seen subtypes.
        seed: chooses them.
    """
    notes: list[str] = []
    members: dict[str, list[str]] = {}
    few = sorted(name for name in classes.types if images[name] < LEAST_IMAGES)
    if few:
        notes.append(
            f"{counted(len(few), 'class', 'classes')} with fewer than {LEAST_IMAGES} readable images "
            f"{'is' if len(few) == 1 else 'are'} left out: {listed(few, NAMED)}."
        )
    for name, type_ in classes.types.items():
        if name not in few:
            members.setdefault(type_, []).append(name)
    subtypes: list[Subtype] = []
    one_sided = []
    for type_, names in sorted(members.items()):
        if seen is not None:
            chosen = {name for name in names if name in seen}
        elif classes.parts:
            chosen = {name for name in names if classes.parts[name] == "seen"}
        else:
            order = sorted(names, key=lambda name: digest64("subtypes/split", seed, name))
            chosen = set(order[: share_of(len(names), share)])
        if len(names) > len(chosen) > 0:
            subtypes += [
                Subtype(name, type_, "seen" if name in chosen else "unseen") for name in sorted(names)
            ]
        else:
            one_sided.append(type_)
    if one_sided:
        notes.append(
            f"{counted(len(one_sided), 'type')} without both seen and unseen subtypes "
            f"{'is' if len(one_sided) == 1 else 'are'} left out: {listed(one_sided, NAMED)}."
        )
    split = SubtypeSplit(
        tuple(sorted(subtypes, key=lambda one: (one.type, one.part, one.name))), tuple(notes)
    )
    if len(split.types) < LEAST_TYPES:
        raise UserError(
            f"{counted(len(split.types), 'type')} can be used, and a study needs {LEAST_TYPES} with at least "
            f"one seen and one unseen subtype of {LEAST_IMAGES} images each"
            f"{': ' if notes else ''}{' '.join(notes).removesuffix('.')}; give more images, or other types "
            f"with {option('hierarchy')}."
        )
    return split


def hold_out(images: Sequence[Surveyed], share: float, seed: int) -> tuple[list[Surveyed], list[Surveyed]]:
    """The training images and the held-out images of one subtype, at least one of each."""
    order = sorted(images, key=lambda image: digest64("subtypes/held out", seed, image.sample.id))
    count = share_of(len(order), share)
    return order[count:], order[:count]


def share_of(count: int, share: float) -> int:
    """A share of at least two things, rounded to the nearest number; at least one, and not all."""
    return min(count - 1, max(1, math.floor(share * count + 0.5)))
