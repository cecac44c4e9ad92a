"""A run's recipe in words, for the page and for Markdown: what decided its predictions."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from windtunnel.core.conditions import grid_text
from windtunnel.core.records import CanvasRecipe, DataInfo, Recipe, Record, RunInfo, read_recipe, read_record
from windtunnel.core.wording import counted
from windtunnel.report.natural_sets import counted_text
from windtunnel.report.sections import Content, Document, ReportInput, Section


class RecipeSection(Section):
    """What decided the predictions, in words and as JSON."""

    name = "recipe"
    title = "Recipe"
    help = "Model, data, suite, seed and libraries of the run, and the whole recipe as JSON."
    order = 2100
    json_order = 150

    def data(self, given: ReportInput) -> dict[str, Any]:
        return {"tie_share": given.run.observed.tie_share}

    def content(self, document: Document, given: ReportInput) -> Content:
        recipe = json.dumps(document["recipe"], indent=2, ensure_ascii=False)
        return Content({"recipe_lines": _document_lines(document), "recipe": recipe})

    def markdown(self, document: Document) -> list[str]:
        return [f"## {self.title}", "", *(f"- {label}: {text}" for label, text in _document_lines(document))]


def _document_lines(document: Document) -> list[tuple[str, str]]:
    return recipe_lines(read_record(document["info"], RunInfo), read_recipe(document["recipe"]))


def recipe_lines(info: RunInfo, recipe: Recipe) -> list[tuple[str, str]]:
    """Labels and texts: model, preprocess, data, canvas, suite, frames, outputs, seed, libraries."""
    model, data = recipe.model, recipe.data
    return [
        (
            "model",
            f"{info.model.name}, {model.kind}, {model.classes:,} outputs, {model.outputs} "
            f"({info.model.outputs_from}), fingerprint {model.fingerprint}",
        ),
        (
            "preprocess",
            f"{info.model.preprocess_from}: {_listed(model.geometry)}; {_listed(model.tensor)}",
        ),
        (
            "device",
            f"{_device(info, recipe)}; {recipe.precision}, {counted(recipe.batch, 'image')} in a batch",
        ),
        ("trained on", ", ".join(info.model.trained_on) or "unknown (not declared)"),
        (
            "data",
            f"{info.data.location}{_beside(info.data)}: {data.count:,} of {data.of:,} "
            f"images; {classes_text(info.data)}; "
            f"digest {data.digest}",
        ),
        # Images that nobody corrupts have no canvas.
        *([] if data.natural else [("canvas", _canvas(recipe.canvas))]),
        ("suite", _suite(info, recipe)),
        *_frames(recipe),
        ("outputs counted", counted_text(recipe)),
        ("seed", f"{recipe.seed} (stream version {recipe.stream})"),
        ("made with", ", ".join(f"{name} {version}" for name, version in info.versions.items())),
    ]


def _device(info: RunInfo, recipe: Recipe) -> str:
    """The kind of device, with the name of its hardware if it is known."""
    return f"{recipe.device} ({info.hardware})" if info.hardware else recipe.device


def classes_text(data: DataInfo) -> str:
    """How many classes there are, and where their order comes from."""
    count = len(data.classes)
    return f"{counted(count, 'class', 'classes')}, {data.order}" if count else "no labels"


def _beside(data: DataInfo) -> str:
    """Where the clean images of a natural set lay."""
    return f", beside clean {data.clean}" if data.clean else ""


def _listed(values: Record) -> str:
    return ", ".join(
        f"{key} {' '.join(map(str, value)) if isinstance(value, tuple) else value}"
        for key, value in msgspec.structs.asdict(values).items()
    )


def _canvas(canvas: CanvasRecipe) -> str:
    note = f"; {canvas.note}" if canvas.note else ""
    return f"edition {canvas.edition}: {_listed(canvas.geometry)}{note}"


def _suite(info: RunInfo, recipe: Recipe) -> str:
    modified = [one for one in recipe.conditions if one.unit]
    units = ", ".join(dict.fromkeys(one.unit for one in modified))
    if recipe.data.natural:
        return f"{info.suite}: images as they are, by the model's own preprocess"
    if modified and all(one.is_pipeline_step for one in modified):
        return f"{info.suite}: {units}; one step swapped at a time"
    what = "difficulty" if any(one.is_sequence for one in modified) else "severities"
    codecs = ", ".join(dict.fromkeys(one.codec for one in modified if not one.is_pipeline_step)) or "none"
    levels = ", ".join(map(str, recipe.suite.levels))
    if recipe.suite.unit_levels:
        corrupted = [one for one in modified if one.is_corruption]
        steps = "".join(f"; {one.unit}" for one in modified if one.is_pipeline_step)
        grid = grid_text((one.unit, one.level) for one in corrupted)
        return f"{info.suite}: {grid}{steps}; codec {codecs}"
    return f"{info.suite}: {units or 'nothing corrupted'}; {what} {levels}; codec {codecs}"


def _frames(recipe: Recipe) -> list[tuple[str, str]]:
    """How long the sequences are, and what their frames are compared with."""
    clips = [one for one in recipe.conditions if one.is_sequence]
    if not clips:
        return []
    stride = recipe.suite.levels[0]
    others = "each frame against the one before" if stride == 1 else f"frames {stride} apart"
    counts = ", ".join(f"{one.name} {one.frames}" for one in clips)
    return [
        ("frames", f"{counts}. Noise: each frame against the first, which is clean; the others: {others}.")
    ]


recipe = RecipeSection()
