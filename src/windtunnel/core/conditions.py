"""A condition: one change of an image before the model sees it, with a stable identity."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from windtunnel.core.images import Stage

Kind = Literal["clean", "native", "corruption", "sequence", "pipeline"]
# The axis of pipeline steps that change the arithmetic of the network, and no pixel.
NUMERICS = "numerics"


@dataclass(frozen=True)
class Condition:
    """One modification of images.

    Attributes:
        kind: `clean` (the suite's canvas, unchanged), `native` (the model's own preprocessing),
            `corruption`, `sequence` or `pipeline` (one changed step of the canvas or the model).
        unit: name of the corruption, of the sequence with its prefix (`seq/tilt`), or the step as
            `axis=value`.
        level: a corruption's severity, 1..5; a noise sequence's difficulty, 1..3; 0 for neither, and for a
            corruption with one strength.
        edition: the edition of the severity table.
        codec: how the result is stored before the model sees it.
        stage: where in the geometry the unit acts.
        revision: revision of the unit.
        geometry: differences from the edition's canvas (images that are not resized), and the changes of a
            pipeline step.
        assets: digests of the files the unit's pixels depend on.
        frames: the number of images made from one; 1 except for sequences.
        settings: texts given to the unit, such as a folder; `assets` has the digest of their content, and
            their location is not part of the identity.
    """

    kind: Kind
    unit: str = ""
    level: int = 0
    edition: int = 0
    codec: str = "none"
    stage: Stage = "canvas"
    revision: int = 0
    geometry: Mapping[str, object] = field(default_factory=dict)
    assets: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict, compare=False)
    frames: int = 1

    @cached_property
    def name(self) -> str:
        """The name as users write it: `clean`, `fog:3+jpeg:85`, `s2n/blur`, `seq/tilt`, `decode=opencv`."""
        base = (f"{self.unit}:{self.level}" if self.level else self.unit) or self.kind
        return base if self.codec == "none" else f"{base}+{self.codec}"

    @cached_property
    def id(self) -> str:
        """BLAKE2b digest of everything that determines the pixels, for joining runs."""
        return digest(
            {
                "kind": self.kind,
                "unit": self.unit,
                "revision": self.revision,
                "level": self.level,
                "edition": self.edition,
                "stage": self.stage,
                "geometry": dict(self.geometry),
                "codec": self.codec,
                "assets": dict(self.assets),
                **self._frames,
            }
        )

    @property
    def _frames(self) -> dict[str, int]:
        return {"frames": self.frames} if self.is_sequence else {}

    @property
    def is_clean(self) -> bool:
        """Whether it is the suite's unmodified canvas."""
        return self.kind == "clean"

    @property
    def is_native(self) -> bool:
        """Whether it is the model's own preprocessing."""
        return self.kind == "native"

    @property
    def is_corruption(self) -> bool:
        """Whether a corruption acts on the image."""
        return self.kind == "corruption"

    @property
    def is_sequence(self) -> bool:
        """Whether it makes the frames of a sequence from the image."""
        return self.kind == "sequence"

    @property
    def is_pipeline_step(self) -> bool:
        """Whether it replaces one step of the deployment pipeline."""
        return self.kind == "pipeline"

    @property
    def numerics(self) -> str:
        """The arithmetic that it asks of the network, such as `float16`; "" for the network's own."""
        axis, _, value = self.unit.partition("=")
        return value if self.is_pipeline_step and axis == NUMERICS else ""

    @property
    def is_corrupted(self) -> bool:
        """Whether its pixels are those of a corruption or a sequence."""
        return self.kind in ("corruption", "sequence")

    @property
    def is_unmodified(self) -> bool:
        """Whether the image is only preprocessed: clean or native."""
        return self.kind in ("clean", "native")

    @property
    def geometry_changes(self) -> Mapping[str, Any]:
        """The changes of a pipeline step to the canvas's geometry; empty for other conditions."""
        return self.geometry if self.is_pipeline_step else {}

    def to_json(self) -> dict[str, object]:
        """The condition as the run folder stores it."""
        return {
            "name": self.name,
            "id": self.id,
            "kind": self.kind,
            "unit": self.unit,
            "level": self.level,
            "edition": self.edition,
            "codec": self.codec,
            "stage": self.stage,
            "revision": self.revision,
            "geometry": dict(self.geometry),
            "assets": dict(self.assets),
            **self._frames,
        }


def grid_text(places: Iterable[tuple[str, int]]) -> str:
    """Corruptions and severities as text, grouped by equal severities."""
    units: dict[tuple[int, ...], list[str]] = {}
    for unit, unit_levels in _levels_by_unit(places).items():
        units.setdefault(tuple(sorted(unit_levels)), []).append(unit)
    return "; ".join(
        ", ".join(names) + (f" at {levels_text(levels)}" if any(levels) else "")
        for levels, names in units.items()
    )


def levels_text(levels: Iterable[int]) -> str:
    """Severities as text: `severity 3`, `severities 1, 3`; "" for one strength, which has none."""
    graded = sorted({level for level in levels if level})
    if not graded:
        return ""
    return f"{'severities' if len(graded) > 1 else 'severity'} {', '.join(map(str, graded))}"


def is_uneven(places: Iterable[tuple[str, int]]) -> bool:
    """Whether the corruptions differ in their severities."""
    return len(set(map(frozenset, _levels_by_unit(places).values()))) > 1


def _levels_by_unit(places: Iterable[tuple[str, int]]) -> dict[str, set[int]]:
    levels: dict[str, set[int]] = {}
    for unit, level in places:
        levels.setdefault(unit, set()).add(level)
    return levels


def digest(value: object) -> str:
    """128 bits of BLAKE2b over canonical JSON, as 32 hexadecimal digits."""
    return hashlib.blake2b(_canonical(value), digest_size=16).hexdigest()


def digest_of_rows(rows: Iterable[object]) -> str:
    """The digest of a list, without holding the list or its JSON in memory."""
    digest = hashlib.blake2b(b"[", digest_size=16)
    for number, row in enumerate(rows):
        digest.update(b"," * (number > 0) + _canonical(row))
    digest.update(b"]")
    return digest.hexdigest()


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
