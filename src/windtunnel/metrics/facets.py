"""What a score is of, in columns: corruption or perturbation, severity, and codec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windtunnel.sequences import SEQUENCE_PREFIX

if TYPE_CHECKING:
    from windtunnel.store.run import Run


@dataclass(frozen=True)
class Facets:
    """The parts of a condition's name as values of their own.

    Attributes:
        corruption: name of the corruption, or of a sequence's perturbation without `seq/`; "" for clean and
            native images, pipeline steps and scores over several corruptions.
        severity: 1..5; None where there is none, or the score is over several.
        codec: how the images were stored before the model saw them; "" for scores over several codecs.
    """

    corruption: str = ""
    severity: int | None = None
    codec: str = ""


# Of scores that are of no single condition.
NO_FACETS = Facets()


def facets_by_condition(run: Run) -> dict[str, Facets]:
    """The facets of every condition of a run, and of every corruption over all its severities (CE)."""
    if run.parts:
        return {}  # there scores are of parts of the data
    found: dict[str, Facets] = {}
    codecs: dict[str, set[str]] = {}
    for condition in run.conditions:
        named = condition["kind"] in ("corruption", "sequence")
        corruption = str(condition["unit"]).removeprefix(SEQUENCE_PREFIX) if named else ""
        severity = int(condition["level"]) if condition["kind"] == "corruption" else None
        codec = str(condition["codec"])
        found[str(condition["name"])] = Facets(corruption, severity, codec)
        if named:
            codecs.setdefault(str(condition["unit"]), set()).add(codec)
    whole = {
        unit: Facets(unit.removeprefix(SEQUENCE_PREFIX), None, next(iter(each)) if len(each) == 1 else "")
        for unit, each in codecs.items()
    }
    return whole | found
