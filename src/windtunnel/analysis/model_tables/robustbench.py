"""RobustBench's tables of corruptions: two header rows, corruption and severity, and a line per model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from windtunnel.analysis.model_tables.csv_rows import number, unique_models
from windtunnel.analysis.model_tables.table import ModelTable, Setting
from windtunnel.analysis.model_tables.units import as_fractions
from windtunnel.core.errors import UserError


def is_robustbench(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first two rows are corruptions and whole-number severities without a model's name."""
    if len(rows) < 2 or rows[0][0] or rows[1][0]:
        return False
    return all(cell.isdigit() for cell in rows[1][1:]) and not any(cell.isdigit() for cell in rows[0][1:])


def read_robustbench(
    path: Path, rows: list[list[str]], units: Sequence[str], ignored: Sequence[str]
) -> ModelTable:
    """The table of a file; settings are named `fog:3`. RobustBench lists no clean accuracy."""
    names = [
        f"{corruption}:{severity}" for corruption, severity in zip(rows[0][1:], rows[1][1:], strict=True)
    ]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise UserError(f"{path} has two columns of {doubled[0]}; keep one.")
    lines = rows[2:]
    if not lines:
        raise UserError(f"{path} has no results; below its two header rows it has a line for each model.")
    models = [line[0] for line in lines]
    unique_models(models, path, first_line=3)
    columns = {
        name: np.array(
            [number(row[place], f"{path}, line {line}: {name}") for line, row in enumerate(lines, start=3)]
        )
        for place, name in enumerate(names, start=1)
        if name not in ignored and name.partition(":")[0] not in ignored
    }
    fractions = as_fractions(columns, units, str(path))
    settings = tuple(
        Setting(name, "synthetic", classes="same", table=path.stem, corruption=name.partition(":")[0])
        for name in fractions
    )
    return ModelTable(tuple(models), settings, np.stack(list(fractions.values()), axis=1), {}, (str(path),))
