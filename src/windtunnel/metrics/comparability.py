"""Comparability of runs: the settings that must be the same before predictions are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from windtunnel.core.recipe_differences import differing_arithmetic, differing_settings
from windtunnel.metrics.sequence_scores import difficulty_of, sequences_of

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

# Descriptions of how outputs become classes.
KINDS = {
    "identity": "all outputs compete",
    "mask": "only classes of the data compete (--mask)",
    "collapse": "outputs are mapped to classes (--map)",
}


def why_pixels_differ(runs: Sequence[ScoredRun]) -> str:
    """Why corrupted images differ between runs, or "" if they do not or nothing is corrupted."""
    if all(condition.is_unmodified for run in runs for condition in run.conditions):
        return ""
    seeds = [run.recipe.seed for run in runs]
    streams = [run.recipe.stream for run in runs]
    for values, name in ((seeds, "seed"), (streams, "random stream version")):
        if len(set(values)) > 1:
            shown = " and ".join(map(str, dict.fromkeys(values)))
            return f"{name}s {shown} differ, so the corrupted pixels differ too"
    return ""


def why_frame_pairs_differ(run: ScoredRun, other: ScoredRun) -> str:
    """Why two runs of sequences compare different pairs of frames, or ""."""
    first, second = difficulty_of(run), difficulty_of(other)
    if first == second or not (sequences_of(run) and sequences_of(other)):
        return ""
    return f"difficulty {first} in {run.path} and {second} in {other.path}"


def why_conditions_differ(runs: Sequence[ScoredRun]) -> str:
    """Settings that make a run's conditions differ from the first run's (difficulty, codec ...), or ""."""
    first = runs[0]
    differences = {
        name: f"{name} {value} in {first.path} and {other} in {run.path}"
        for run in runs[1:]
        for name, value, other in differing_settings(first.recipe, run.recipe)
    }
    return ", ".join(differences.values())


def arithmetic_note(runs: Sequence[ScoredRun]) -> str:
    """A note on runs that computed on another device or in another precision than the first, or ""."""
    first = runs[0]
    differences = [
        f"{name} {value} in {first.path} and {other} in {run.path}"
        for run in runs[1:]
        for name, value, other in differing_arithmetic(first.recipe, run.recipe)
    ]
    if not differences:
        return ""
    return f"Different arithmetic: {', '.join(differences)}. It may change predictions by itself."


def why_outputs_differ(runs: Sequence[ScoredRun]) -> str:
    """Why predictions are not over the same outputs in all runs (a mask or a map), or ""."""
    projections = [_projection(run) for run in runs]
    if all(projection == projections[0] for projection in projections):
        return ""
    competing = [_competing_classes(run) if run.natural else set() for run in runs]
    if competing[0] and all(classes == competing[0] for classes in competing):
        return ""
    kinds = list(dict.fromkeys(KINDS[projection["kind"]] for projection in projections))
    if len(kinds) > 1:
        return f"{kinds[0]} in one run and {kinds[1]} in another"
    return f"{kinds[0]}, but the classes differ between runs"


def _competing_classes(run: ScoredRun) -> set[str]:
    """Classes of a natural set that compete; empty if outputs of other classes compete too.

    A network with 200 outputs is comparable with one of 1,000 outputs restricted to the same 200.
    """
    recipe, classes = run.recipe.projection, run.info.data.classes
    outputs = len(recipe.outputs) or run.recipe.model.classes
    competing = set(recipe.kept) or set(range(outputs))
    class_of = {place: classes[label] for label, place in enumerate(recipe.labels) if place in competing}
    return set(class_of.values()) if len(class_of) == len(competing) else set()


def _projection(run: ScoredRun) -> dict[str, Any]:
    """The outputs that compete, independent of the order in which a model lists its classes."""
    recipe = run.recipe.projection
    competing, classes = set(recipe.kept), run.class_keys
    names = sorted(classes[label] for label, place in enumerate(recipe.labels) if place in competing)
    return {"kind": recipe.kind, "classes": names, "outputs": recipe.outputs}
