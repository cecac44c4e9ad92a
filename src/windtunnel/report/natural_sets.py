"""A natural set in words: its parts, and which outputs of the model count."""

from __future__ import annotations

from windtunnel.core.records import NaturalRecipe, PartRecord, Recipe
from windtunnel.core.wording import counted


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
