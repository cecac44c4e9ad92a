"""Training with corrupted copies: every epoch contains each image several times, clean and corrupted.

Laugros et al. (2021) train on a clean and a corrupted copy of every image, shuffled together. Their standard
model gets the clean copy twice, so that all models take the same number of steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import UserError
from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws, digest64
from windtunnel.corruptions import (
    REGISTRY,
    SEVERITIES,
    check_severity,
    corruption_condition,
    edition_of,
)
from windtunnel.suites.determinism import apply_reproducibly


@dataclass(frozen=True)
class Augmentation:
    """How often an epoch contains each image, clean and corrupted.

    Attributes:
        corruptions: what a corrupted copy is corrupted by, such as `fog:3`, or `s2n/blur` of a corruption
            without severities. Of several, one is drawn for each copy.
        clean_copies, corrupted_copies: the number of copies in every epoch.
    """

    corruptions: tuple[str, ...] = ()
    clean_copies: int = 1
    corrupted_copies: int = 0

    def __post_init__(self) -> None:
        given = self.corruptions
        if not isinstance(given, list | tuple) or not all(isinstance(name, str) for name in given):
            raise UserError(f"corruptions is {given!r}; give a tuple of names, such as ('fog:3',).")
        for name in ("clean_copies", "corrupted_copies"):
            value = getattr(self, name)
            if type(value) is not int or value < 0:
                raise UserError(f"{name} is {value!r}; give a whole number of at least 0.")
        if not self.copies:
            raise UserError("clean_copies and corrupted_copies are 0; give at least one copy.")
        if given and not self.corrupted_copies:
            raise UserError(
                f"corruptions has {', '.join(given)}, and corrupted_copies is 0, so that nothing is "
                "corrupted; give corrupted_copies = 1 as well."
            )
        if self.corrupted_copies and not given:
            raise UserError(
                f"corrupted_copies is {self.corrupted_copies}, and corruptions is empty; name what they are "
                "corrupted by, such as fog:3."
            )
        for name in given:
            unit_and_severity(name)

    @property
    def copies(self) -> int:
        """The number of copies of each image in an epoch."""
        return self.clean_copies + self.corrupted_copies

    def conditions(self, side_px: int) -> list[Condition]:
        """The corruptions on images of that size; refuses images that are too small."""
        return conditions_at(map(unit_and_severity, self.corruptions), side_px)

    def is_corrupted(self, copy: int) -> bool:
        """Whether a copy is corrupted; the clean ones come first."""
        return copy >= self.clean_copies


def corrupted_view(
    view: Image, conditions: Sequence[Condition], seed: int, epoch: int, copy: int, image: str
) -> Image:
    """A training image corrupted by one of the conditions, drawn by seed, epoch, copy and image."""
    root = digest64("train/corruption", seed, epoch, copy)
    number = Draws(root, image, "train/choice", 0).integer("corruption", 0, len(conditions))
    condition = conditions[number]
    unit, canvas = REGISTRY.get(condition.unit), np.require(view, requirements=["C", "W"])

    def apply() -> Image:
        rng = unit.draws(root, image, condition.level)
        return unit.apply(canvas, rng, condition.level, condition.edition, condition.settings)

    return apply_reproducibly(unit, apply)


def conditions_at(places: Iterable[tuple[str, int]], side_px: int) -> list[Condition]:
    """Corruptions and severities on square images; refuses corruptions that need larger images."""
    conditions = []
    for unit, severity in places:
        least = REGISTRY.get(unit).min_side_px
        if side_px < least:
            raise UserError(
                f"The preprocessing gives images of {side_px} pixels; {unit} needs {least}. Give larger "
                "images, or leave it out."
            )
        conditions.append(corruption_condition(unit, severity, edition_of(side_px, side_px), "none"))
    return conditions


def unit_and_severity(written: str, severity: int | None = None) -> tuple[str, int]:
    """The corruption and the severity of a name such as `fog:3`; 0 for a corruption without severities.

    `severity` is taken if the name has none.
    """
    unit, colon, level = written.partition(":")
    registered = REGISTRY.get(unit)
    if registered.has_one_strength:
        if colon:
            raise UserError(f"'{written}' has a severity, but {unit} has none; write {unit}.")
        return unit, 0
    if colon and level not in map(str, SEVERITIES):
        known = ", ".join(map(str, SEVERITIES))
        raise UserError(
            f"'{written}' is not a severity of {unit}; give one of {known}, such as {unit}:{SEVERITIES[2]}."
        )
    if not colon and severity is None:
        raise UserError(f"'{written}' has no severity; write {unit}:{SEVERITIES[2]}.")
    chosen = int(level) if colon else int(severity or 0)
    check_severity(chosen)
    return unit, chosen
