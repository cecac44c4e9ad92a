"""Descriptions of natural sets: their parts, and the model's outputs that compete."""

from __future__ import annotations

from windtunnel.core.records import DEFAULT_TASK, NaturalRecipe, PartRecord, Recipe
from windtunnel.core.wording import counted


def parts_text(natural: NaturalRecipe) -> str:
    """The parts of a natural set with their numbers of images."""
    parts = ", ".join(map(_part_text, natural.parts))
    frames = f"; {counted(natural.frame_sets, 'frame set')}" if natural.frame_sets else ""
    return parts + frames


def _part_text(part: PartRecord) -> str:
    of = "" if part.count == part.of else f" of {part.of:,}"
    return f"{part.count:,}{of} {part.name}"


def competing_outputs_text(recipe: Recipe) -> str:
    """The model's outputs that compete: all, those left by a mask, or those mapped to classes.

    For a detector, the number of its classes that the data has.
    """
    projection, outputs = recipe.projection.projection, f"{recipe.model.classes:,}"
    if recipe.task != DEFAULT_TASK:
        used = sum(output >= 0 for output in recipe.projection.labels)
        return f"{used:,} of {outputs} classes are categories of the data; detections of others do not count"
    if projection.is_masked:
        return f"{len(projection.kept):,} of {outputs} outputs compete (masked before softmax)"
    if projection.is_collapsed:
        used = sum(map(len, projection.outputs))
        classes = counted(len(projection.kept), "class", "classes")
        return f"{used:,} of {outputs} outputs are mapped to {classes} (the largest output of a class)"
    return f"all {outputs} outputs compete"
