"""A condition: one thing done to an image before the model sees it, with an identity that lasts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from windtunnel.core.images import Stage

Kind = Literal["clean", "native", "corruption", "sequence", "pipeline"]


@dataclass(frozen=True)
class Condition:
    """What is done to the image.

    Attributes:
        kind: `clean` (the suite's canvas, nothing done), `native` (the model's own preprocess),
            `corruption`, `sequence` or `pipeline` (one step to the canvas or in the model swapped).
        unit: name of the corruption, of the sequence with its prefix (`seq/tilt`), or the step as
            `axis=value`.
        level: a corruption's severity, 1..5; a noise sequence's difficulty, 1..3; 0 where there is none.
        edition: whose severity table.
        codec: how the result is stored before the model sees it.
        stage: where in the geometry the unit acts.
        revision: of the unit.
        geometry: where the canvas differs from the edition's usual one (images taken as they are), and
            what a step changes of it.
        assets: digests of the files the unit's pixels depend on.
        frames: how many images it makes of one; 1 for all but sequences.
        settings: texts given to the unit, such as a folder; their content is in `assets`, their place is
            nobody's business.
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
        """How people write it: `clean`, `fog:3`, `fog:3+jpeg:85`, `seq/tilt`, `decode=opencv`."""
        base = (f"{self.unit}:{self.level}" if self.level else self.unit) or self.kind
        return base if self.codec == "none" else f"{base}+{self.codec}"

    @cached_property
    def id(self) -> str:
        """BLAKE2b of everything that decides the pixels, for joining runs."""
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
        """Whether it is the suite's canvas with nothing done to it."""
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
    def is_corrupted(self) -> bool:
        """Whether its pixels are those of a corruption or a sequence."""
        return self.kind in ("corruption", "sequence")

    @property
    def is_unmodified(self) -> bool:
        """Whether the image is only preprocessed: clean or native."""
        return self.kind in ("clean", "native")

    @property
    def geometry_changes(self) -> Mapping[str, Any]:
        """What a pipeline step replaces in the canvas's geometry; nothing for other conditions."""
        return self.geometry if self.is_pipeline_step else {}

    def to_json(self) -> dict[str, object]:
        """The condition as the run folder keeps it."""
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
    """Corruptions and severities in words, corruptions that have the same severities together."""
    units: dict[tuple[int, ...], list[str]] = {}
    for unit, found in _levels_by_unit(places).items():
        units.setdefault(tuple(sorted(found)), []).append(unit)
    return "; ".join(
        f"{', '.join(names)} at {'severities' if len(levels) > 1 else 'severity'} "
        f"{', '.join(map(str, levels))}"
        for levels, names in units.items()
    )


def is_uneven(places: Iterable[tuple[str, int]]) -> bool:
    """Whether some corruptions have other severities than the rest."""
    return len(set(map(frozenset, _levels_by_unit(places).values()))) > 1


def _levels_by_unit(places: Iterable[tuple[str, int]]) -> dict[str, set[int]]:
    levels: dict[str, set[int]] = {}
    for unit, level in places:
        levels.setdefault(unit, set()).add(level)
    return levels


def digest(value: object) -> str:
    """128 bits of BLAKE2b over canonical JSON, as 32 hexadecimal digits."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
