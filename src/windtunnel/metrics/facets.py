"""Facets of a score as columns: corruption or perturbation, severity, and codec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windtunnel.core.scores import Facets
from windtunnel.sequences import SEQUENCE_PREFIX

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun


def facets_by_condition(run: ScoredRun) -> dict[str, Facets]:
    """The facets of every condition of a run, and of every corruption over all its severities (CE)."""
    if run.parts:
        return {}  # natural sets are scored by part of the data
    by_condition: dict[str, Facets] = {}
    codecs: dict[str, set[str]] = {}
    for condition in run.conditions:
        named = condition.is_corrupted
        corruption = condition.unit.removeprefix(SEQUENCE_PREFIX) if named else ""
        severity = condition.level or None if condition.is_corruption else None
        codec = condition.codec
        by_condition[condition.name] = Facets(corruption, severity, codec)
        if named:
            codecs.setdefault(condition.unit, set()).add(codec)
    whole = {
        unit: Facets(unit.removeprefix(SEQUENCE_PREFIX), None, next(iter(each)) if len(each) == 1 else "")
        for unit, each in codecs.items()
    }
    return whole | by_condition
