"""What is said of a run over a natural set: its parts, which outputs counted, and what marks its scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windtunnel.analysis.caveats import marks
from windtunnel.core.records import NaturalRecipe, PartRecord, Recipe
from windtunnel.core.wording import counted
from windtunnel.metrics.headlines import head_titles, headline_formula
from windtunnel.metrics.scored_run import ScoredRun


def parts_text(natural: NaturalRecipe) -> str:
    """The parts of a natural set with their counts, as the recipe holds them."""
    parts = ", ".join(map(_part_text, natural.parts))
    frames = f"; {counted(natural.frame_sets, 'frame set')}" if natural.frame_sets else ""
    return parts + frames


def _part_text(part: PartRecord) -> str:
    of = "" if part.count == part.of else f" of {part.of:,}"
    return f"{part.count:,}{of} {part.name}"


def counted_text(recipe: Recipe) -> str:
    """Which of the model's outputs may win, in a few words."""
    projection, outputs = recipe.projection.projection, f"{recipe.model.classes:,}"
    kept = f"{len(projection.kept):,}"
    if projection.is_masked:
        return f"{kept} of {outputs} outputs count (mask before softmax)"
    if projection.is_collapsed:
        used = sum(map(len, projection.outputs))
        return f"{used:,} of {outputs} outputs stand for {kept} classes (the best of a class's outputs)"
    return f"all {outputs} outputs count"


def natural_notes(run: ScoredRun) -> list[str]:
    """What a reader must know of a natural set's scores before comparing them."""
    if not run.natural:
        return []
    lines = [f"Images: {parts_text(run.natural)}. {counted_text(run.recipe).capitalize()}."]
    lines += [f"{mark}." for mark in marks(run)]
    unanswerable = _without_output(run)
    if unanswerable:
        lines.append(
            f"{counted(unanswerable, 'image is', 'images are')} of classes that no output of the model "
            "stands for, and counted as wrong."
        )
    return lines


def document_heads(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The scores at the head of a run's report, each with its `title`."""
    parts = [one["name"] for one in document["recipe"]["data"].get("natural", {}).get("parts", ())]
    scores = {(one["metric"], one["condition"]): one for one in document["scores"]}
    heads = head_titles(scores, parts)
    return [
        scores[key] | {"title": title, "formula": headline_formula(str(scores[key]["formula"]))}
        for key, title in heads.items()
    ]


def _without_output(run: ScoredRun) -> int:
    """How many scored images have only labels that no output stands for."""
    projection = run.projection
    kept = set(projection.kept) or set(range(len(projection.outputs) or run.recipe.model.classes))
    possible = {label for label, output in enumerate(run.recipe.projection.labels) if output in kept}
    return sum(bool(labels) and not possible & set(labels) for labels in run.observed.labels)
