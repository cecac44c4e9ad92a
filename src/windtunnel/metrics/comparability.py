"""What must be alike in runs before their answers are set beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from windtunnel.core.records import differing_settings
from windtunnel.metrics.sequence_scores import difficulty_of, sequences_of

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

# What a projection lets count, in words.
KINDS = {
    "identity": "all outputs count",
    "mask": "only classes of the data count (--mask)",
    "collapse": "outputs stand for classes by a map (--map)",
}


def why_other_pixels(runs: Sequence[ScoredRun]) -> str:
    """Why corrupted images are not the same in all runs, or "": where nothing is corrupted, no reason."""
    if all(one.is_unmodified for run in runs for one in run.conditions):
        return ""
    seeds = [run.recipe.seed for run in runs]
    streams = [run.recipe.stream for run in runs]
    for values, name in ((seeds, "seed"), (streams, "random stream version")):
        if len(set(values)) > 1:
            shown = " and ".join(map(str, dict.fromkeys(values)))
            return f"{name}s {shown} differ, so that corrupted pixels do too"
    return ""


def why_other_pairs(run: ScoredRun, other: ScoredRun) -> str:
    """Why frames are not compared alike in two runs of sequences, or ""; the same clips may be."""
    ours, theirs = difficulty_of(run), difficulty_of(other)
    if ours == theirs or not (sequences_of(run) and sequences_of(other)):
        return ""
    return f"difficulty {ours} in {run.path} and {theirs} in {other.path}"


def why_other_conditions(runs: Sequence[ScoredRun]) -> str:
    """What makes all conditions of some run others than the first one's (difficulty, codec ...), or ""."""
    first = runs[0]
    found = {
        name: f"{name} {ours} in {first.path} and {theirs} in {run.path}"
        for run in runs[1:]
        for name, ours, theirs in differing_settings(first.recipe, run.recipe)
    }
    return ", ".join(found.values())


def why_other_answers(runs: Sequence[ScoredRun]) -> str:
    """Why a right answer is not as easy in all runs (a mask or a map), or ""."""
    found = [_projection(run) for run in runs]
    if all(one == found[0] for one in found):
        return ""
    rivals = [_rivals(run) if run.natural else set() for run in runs]
    if rivals[0] and all(one == rivals[0] for one in rivals):
        return ""
    kinds = list(dict.fromkeys(KINDS[one["kind"]] for one in found))
    if len(kinds) > 1:
        return f"{kinds[0]} in one run and {kinds[1]} in another"
    return f"{kinds[0]}, but not the same ones in all runs"


def _rivals(run: ScoredRun) -> set[str]:
    """Of a natural set the classes that compete; none where outputs of other classes may win too.

    A network of 200 outputs and the 200 of a network's thousand that count are as easy to be right with.
    """
    recipe, classes = run.recipe.projection, run.info.data.classes
    outputs = len(recipe.outputs) or run.recipe.model.classes
    kept = set(recipe.kept) or set(range(outputs))
    found = {place: classes[label] for label, place in enumerate(recipe.labels) if place in kept}
    return set(found.values()) if len(found) == len(kept) else set()


def _projection(run: ScoredRun) -> dict[str, Any]:
    """Which outputs may win, whatever the order in which a model lists its classes."""
    recipe = run.recipe.projection
    kept, classes = set(recipe.kept), run.class_keys
    names = sorted(classes[label] for label, place in enumerate(recipe.labels) if place in kept)
    return {"kind": recipe.kind, "classes": names, "outputs": recipe.outputs}
