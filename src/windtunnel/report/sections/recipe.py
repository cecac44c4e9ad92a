"""A run's recipe: all settings that determine its predictions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from windtunnel.analysis.training_overlap import names_data
from windtunnel.core.conditions import grid_text, levels_text
from windtunnel.core.records import CanvasRecipe, Recipe, Record, read_recipe, read_record
from windtunnel.core.run_info import DataInfo, RunInfo
from windtunnel.core.wording import counted
from windtunnel.models.wrapping import describe_wrappers
from windtunnel.report.natural_sets import competing_outputs_text
from windtunnel.report.sections import ANY_TASK, Content, Document, ReportInput, Section


class RecipeSection(Section):
    """The settings that determine the predictions, as text and as JSON."""

    name = "recipe"
    title = "Recipe"
    help = "Model, data, suite, seed and libraries of the run, and the complete recipe as JSON."
    order = 2100
    json_order = 150
    tasks = ANY_TASK

    def data(self, inputs: ReportInput) -> dict[str, Any]:
        return {"tie_share": inputs.run.predicted.tie_share}

    def content(self, document: Document, inputs: ReportInput) -> Content:
        recipe = json.dumps(document["recipe"], indent=2, ensure_ascii=False)
        return Content({"recipe_lines": _document_lines(document), "recipe": recipe})

    def markdown(self, document: Document) -> list[str]:
        return [f"## {self.title}", "", *(f"- {label}: {text}" for label, text in _document_lines(document))]


def _document_lines(document: Document) -> list[tuple[str, str]]:
    return recipe_lines(read_record(document["info"], RunInfo), read_recipe(document["recipe"]))


def _trained_on_text(trained_on: Sequence[str]) -> str:
    """What a model was trained on; corruptions alone do not tell which images."""
    if not trained_on:
        return "unknown (not declared)"
    text = ", ".join(trained_on)
    return text if any(map(names_data, trained_on)) else f"{text}; data: not declared"


def recipe_lines(info: RunInfo, recipe: Recipe) -> list[tuple[str, str]]:
    """Labelled lines: model, preprocessing, data, canvas, suite, frames, outputs, seed, libraries."""
    model, data = recipe.model, recipe.data
    return [
        (
            "model",
            f"{info.model.name}, {model.kind}, {model.classes:,} outputs, {model.outputs} "
            f"({info.model.outputs_from}), fingerprint {model.fingerprint}",
        ),
        *(
            [("wrappers", describe_wrappers(model.wrappers, info.model.passes, info.model.trained_with))]
            if model.wrappers
            else []
        ),
        (
            "preprocessing",
            f"{info.model.preprocess_from}: {_fields_text(model.geometry)}; {_tensor_text(info, recipe)}",
        ),
        (
            "device",
            f"{_device(info, recipe)}; {recipe.precision}, {counted(recipe.batch, 'image')} in a batch",
        ),
        ("trained on", _trained_on_text(info.model.trained_on)),
        *([("trained with", ", ".join(info.model.trained_with))] if info.model.trained_with else []),
        (
            "data",
            f"{info.data.location}{_clean_location(info.data)}: {data.count:,} of {data.of:,} "
            f"images; {classes_text(info.data)}; "
            f"digest {data.digest}",
        ),
        # Natural sets are not corrupted, so they have no canvas.
        *([] if data.natural else [("canvas", _canvas_text(recipe.canvas))]),
        ("suite", _suite_text(info, recipe)),
        *_frame_lines(recipe),
        ("outputs", competing_outputs_text(recipe)),
        ("seed", f"{recipe.seed} (stream version {recipe.stream})"),
        ("made with", ", ".join(f"{name} {version}" for name, version in info.versions.items())),
    ]


def _device(info: RunInfo, recipe: Recipe) -> str:
    """The kind of device, with the name of its hardware if it is known."""
    return f"{recipe.device} ({info.hardware})" if info.hardware else recipe.device


def _tensor_text(info: RunInfo, recipe: Recipe) -> str:
    """How pixels became the model's input."""
    if info.model.own_arithmetic:
        return "conversion to a tensor: by the model itself"
    return _fields_text(recipe.model.tensor)


def classes_text(data: DataInfo) -> str:
    """The number of classes, and the source of their order."""
    count = len(data.classes)
    return f"{counted(count, 'class', 'classes')}, {data.order}" if count else "no labels"


def _clean_location(data: DataInfo) -> str:
    """The location of a natural set's clean images."""
    return f" with clean images {data.clean}" if data.clean else ""


def _fields_text(values: Record) -> str:
    return ", ".join(
        f"{key} {' '.join(map(str, value)) if isinstance(value, tuple) else value}"
        for key, value in msgspec.structs.asdict(values).items()
    )


def _canvas_text(canvas: CanvasRecipe) -> str:
    note = f"; {canvas.note}" if canvas.note else ""
    return f"edition {canvas.edition}: {_fields_text(canvas.geometry)}{note}"


def _suite_text(info: RunInfo, recipe: Recipe) -> str:
    modified = [condition for condition in recipe.conditions if condition.unit]
    units = ", ".join(dict.fromkeys(condition.unit for condition in modified))
    if recipe.data.natural:
        return f"{info.suite}: unmodified images with the model's own preprocessing"
    if modified and all(condition.is_pipeline_step for condition in modified):
        return f"{info.suite}: {units}; one step replaced at a time"
    stored = [condition.codec for condition in modified if not condition.is_pipeline_step]
    codecs = ", ".join(dict.fromkeys(stored)) or "none"
    levels = levels_text(recipe.suite.levels)
    if levels and any(condition.is_sequence for condition in modified):
        levels = f"difficulty {', '.join(map(str, recipe.suite.levels))}"
    corrupted = [condition for condition in modified if condition.is_corruption]
    if recipe.suite.unit_levels or len({bool(condition.level) for condition in corrupted}) > 1:
        steps = "".join(f"; {condition.unit}" for condition in modified if condition.is_pipeline_step)
        grid = grid_text((condition.unit, condition.level) for condition in corrupted)
        return f"{info.suite}: {grid}{steps}; codec {codecs}"
    shown_levels = f"; {levels}" if levels else ""
    return f"{info.suite}: {units or 'nothing corrupted'}{shown_levels}; codec {codecs}"


def _frame_lines(recipe: Recipe) -> list[tuple[str, str]]:
    """The lengths of sequences, and the frames that are compared."""
    clips = [condition for condition in recipe.conditions if condition.is_sequence]
    if not clips:
        return []
    stride = recipe.suite.levels[0]
    others = "each frame with the previous one" if stride == 1 else f"frames {stride} apart"
    counts = ", ".join(f"{clip.name} {clip.frames}" for clip in clips)
    text = f"{counts}. Noise compares each frame with the clean first one; other sequences compare {others}."
    return [("frames", text)]


recipe = RecipeSection()
