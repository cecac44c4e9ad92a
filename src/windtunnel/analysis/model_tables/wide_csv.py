"""Tables with a line per model and a column per setting; known headers are declared in model_tables.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from windtunnel.analysis.model_tables.csv_rows import is_number, number, unique_models
from windtunnel.analysis.model_tables.recognised_names import is_attribute, recognised, table_facts
from windtunnel.analysis.model_tables.table import Direction, Floats, ModelTable, Setting
from windtunnel.analysis.model_tables.units import as_fractions
from windtunnel.core.errors import UserError
from windtunnel.core.wording import listed

# Headers of a first column whose models may have numbers for names.
MODEL_HEADERS = ("model", "name", "network")


def declared_format(header: Sequence[str]) -> Mapping[str, Any]:
    """The format of `model_tables.toml` that a header has; {} for a plain table."""
    formats: dict[str, dict[str, Any]] = table_facts()["formats"]
    return next((facts for facts in formats.values() if set(facts["columns"]) <= set(header)), {})


def read_wide_csv(
    path: Path,
    rows: list[list[str]],
    units: Sequence[str],
    ignored: Sequence[str],
    scores: Mapping[str, Direction],
) -> ModelTable:
    """The table of a CSV file whose first column, or whose format's columns, name the models.

    `scores` are columns that are no accuracies: they keep their values.
    """
    header, *lines = rows
    facts = declared_format(header)
    named_by = facts.get("model", header[:1])
    doubled = sorted({name for name in header if header.count(name) > 1})
    if doubled:
        raise UserError(f"{path} has two columns '{doubled[0]}'; rename one.")
    cells = {name: [line[place] for line in lines] for place, name in enumerate(header) if name}
    if not lines or len(header) < 2:
        raise UserError(
            f"{path} has no results; a table has a line for each model and a column for each setting."
        )
    named = [[line[header.index(name)] for line in lines] for name in named_by]
    models = [" ".join(filter(None, parts)) for parts in zip(*named, strict=True)]
    if named_by == header[:1] and header[0].lower() not in MODEL_HEADERS and all(map(is_number, models)):
        raise UserError(
            f"{path}: the first column, '{header[0]}', has only numbers; it must name the models. Put a "
            f"column '{MODEL_HEADERS[0]}' first."
        )
    unique_models(models, path, first_line=2)
    left_out = {*facts.get("left_out", ()), *ignored, header[0], *scores}
    attributes = {
        name: tuple(texts)
        for name, texts in cells.items()
        if name != header[0] and name not in scores
        if name in named_by or is_attribute(name) or not any(map(is_number, texts))
    }
    accuracies = {
        name: _numbers(path, name, texts)
        for name, texts in cells.items()
        if name not in attributes and name not in left_out
    }
    if not accuracies:
        raise UserError(f"{path} has no column of accuracies; its columns are {listed(list(cells), 8)}.")
    fractions = as_fractions(accuracies, units, str(path), facts.get("unit", ""))
    others = {name: _numbers(path, name, cells[name]) for name in scores if name in cells}
    settings = (
        *_settings(tuple(fractions), path.stem, facts),
        *(
            Setting(name, "synthetic", table=path.stem, direction=scores[name], is_accuracy=False)
            for name in others
        ),
    )
    not_read = sorted({*facts.get("left_out", ())} & set(cells))
    return ModelTable(
        tuple(models),
        settings,
        np.stack([*fractions.values(), *others.values()], axis=1),
        attributes,
        (str(path),),
        (f"{path.name}: columns left out: {listed(not_read)}.",) if not_read else (),
    )


def _numbers(path: Path, name: str, texts: Sequence[str]) -> Floats:
    return np.array(
        [number(text, f"{path}, line {line}: {name}") for line, text in enumerate(texts, start=2)]
    )


def _settings(names: tuple[str, ...], table: str, facts: Mapping[str, Any]) -> tuple[Setting, ...]:
    images: Mapping[str, int] = facts.get("images", {})
    found = []
    for name in names:
        setting = recognised(name, names, table)
        if facts and setting.role == "clean" and name != facts["clean"]:
            setting = replace(setting, role="other")
        if name == facts.get("clean"):
            setting = replace(setting, role="clean")
        found.append(replace(setting, images=images.get(name, 0)))
    return tuple(found)
