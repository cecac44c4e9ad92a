"""Predictions that are not finite: how many a run has, and how metrics count them.

A prediction with a NaN or an infinity among its outputs is wrong: its label ranks behind every class, it is
fully confident (1), it differs from every other prediction, and as an OOD score it is on the wrong side.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from windtunnel.core.metrics import metric_of
from windtunnel.core.records import DEFAULT_TASK
from windtunnel.core.wording import counted, listed

if TYPE_CHECKING:
    from windtunnel.metrics.complete_images import CompleteImages
    from windtunnel.metrics.scored_run import ScoredRun

CONDITIONS_SHOWN = 3


def not_finite_under(run: ScoredRun, seen: CompleteImages, conditions: Iterable[str]) -> int:
    """Number of predictions on scored images that are not finite, under these conditions."""
    count = 0
    for name in conditions:
        if name in seen.conditions:
            count += int(seen.not_finite[:, seen.column(name)].sum())
        else:
            count += int(run.clips.not_finite(name).sum())
    return count


def score_detail(run: ScoredRun, seen: CompleteImages, metric: str, parts: Iterable[str]) -> str:
    """A note on such predictions under the conditions of a score; "" if there are none."""
    names = {condition.name for condition in run.conditions}
    lost = not_finite_under(run, seen, [part for part in parts if part in names] or seen.conditions)
    if not lost:
        return ""
    known = metric_of(metric)
    changed = known is not None and known.task == DEFAULT_TASK and not known.needs_labels
    how = "counted as changed" if changed else _counted_as(run)
    return f"{counted(lost, 'prediction is', 'predictions are')} not finite and {how}"


def not_finite_section(run: ScoredRun) -> dict[str, Any]:
    """Number of affected predictions and images, and counts by condition in descending order."""
    seen = run.predicted.with_unlabelled
    if run.parts:
        by_condition = {part.name: int(seen.not_finite[part.rows].sum()) for part in run.parts}
    else:
        names = [condition.name for condition in run.conditions]
        by_condition = {name: not_finite_under(run, seen, [name]) for name in names}
    by_condition = {name: lost for name, lost in by_condition.items() if lost}
    images: set[str] = set()
    if by_condition:
        images.update(seen.ids[seen.not_finite.any(axis=1)].tolist())
        for name in by_condition.keys() - set(seen.conditions) if not run.parts else ():
            images.update(run.clips.ids[run.clips.not_finite(name).any(axis=1)].tolist())
    return {
        "predictions": sum(by_condition.values()),
        "images": len(images),
        "by_condition": dict(sorted(by_condition.items(), key=lambda item: -item[1])),
    }


def not_finite_note(run: ScoredRun) -> str:
    """One sentence on such predictions for terminal and report; "" if there are none."""
    counts = not_finite_section(run)
    if not counts["predictions"]:
        return ""
    shown = [f"{name} {lost:,}" for name, lost in counts["by_condition"].items()]
    predictions = counted(counts["predictions"], "prediction is", "predictions are")
    return (
        f"{predictions} not finite, on {counted(counts['images'], 'image')}, and {_counted_as(run)}: "
        f"{listed(shown, CONDITIONS_SHOWN)}."
    )


def _counted_as(run: ScoredRun) -> str:
    """How scores of a run's task count such predictions."""
    return "counted as wrong" if run.recipe.task == DEFAULT_TASK else "counted as images without detections"
