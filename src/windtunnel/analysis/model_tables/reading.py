"""Reading tables of models: which kind of table a path is, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np

from windtunnel.analysis.model_tables.csv_rows import csv_rows
from windtunnel.analysis.model_tables.recognised_names import clean_column
from windtunnel.analysis.model_tables.robustbench import is_robustbench, read_robustbench
from windtunnel.analysis.model_tables.run_folders import runs_table
from windtunnel.analysis.model_tables.table import Direction, ModelTable, Setting, join_tables
from windtunnel.analysis.model_tables.timm_results import (
    is_timm_folder,
    is_timm_header,
    read_timm_results,
)
from windtunnel.analysis.model_tables.wide_csv import read_wide_csv
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.metrics import REGISTRY as METRICS
from windtunnel.core.metrics import metric_named, metric_of
from windtunnel.core.option_names import option
from windtunnel.core.wording import counted
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.store.folder import RECIPE_FILE

# Models that a correlation or a line needs.
FEWEST_MODELS = 4
# Clean accuracies up to this are more likely fractions that are declared in per cent.
LOW_CLEAN = 0.01
NO_CLEAN = "none"


def read_tables(
    sources: Sequence[str | Path | ScoredRun],
    *,
    units: Sequence[str] = (),
    clean: str = "",
    ignored: Sequence[str] = (),
    scores: Sequence[str] = (),
) -> ModelTable:
    """Tables of models and settings as one, joined by the models' names.

    Args:
        sources: run folders, folders of run folders, CSV files, or folders of timm's results; each is
            recognised by its content.
        units: `percent` if the CSV files are in per cent, or `COLUMN=percent` for single columns.
        clean: the column of clean accuracies; "" to recognise it, `none` for none.
        ignored: columns of CSV files that are left out.
        scores: scores used as they are, without subtracting from a clean accuracy: a metric of the runs, or
            `COLUMN:lower` and `COLUMN:higher` for a column of a CSV file.

    Raises:
        UserError: a source is no table, its units are not clear, or tables do not fit together.
    """
    if not sources:
        raise UserError("No table is given; give run folders, a CSV file, or a folder of timm's results.")
    directions = dict(_score_direction(text) for text in scores)
    metrics = [name for name in directions if metric_of(metric_named(name))]
    sources = [each for source in sources for each in _runs_inside(source)]
    _refuse_repeated(sources)
    runs = [source for source in sources if isinstance(source, ScoredRun) or _is_run(Path(source))]
    files = [Path(source) for source in sources if not isinstance(source, ScoredRun) and source not in runs]
    tables = [_read_file(path, units, ignored, directions) for path in files]
    if runs:
        scored = [run if isinstance(run, ScoredRun) else ScoredRun(run) for run in runs]
        tables.append(runs_table(scored, metrics))
    _refuse_unknown_columns(files, ignored)
    table = _with_clean(join_tables(tables), clean)
    for name in (text.rpartition("=")[0] for text in units if "=" in text):
        table.setting(name)
    absent = [name for name in directions if not {name, metric_named(name)} & set(table.names)]
    if absent and metric_of(metric_named(absent[0])):
        raise UserError(
            f"{option('scores', [absent[0]])} is a metric of runs, and "
            + ("none of these runs has it; " if runs else "no run is given; ")
            + f"give run folders with it, or name a column as in {option('scores', ['COLUMN:lower'])}."
        )
    if absent:
        raise unknown_name("score", absent[0], {*table.names, *METRICS.names()})
    if len(table.models) < FEWEST_MODELS:
        raise UserError(
            f"{counted(len(table.models), 'model')} in {', '.join(table.sources)}; at least {FEWEST_MODELS} "
            "are needed. Give further tables or runs."
        )
    return replace(table, notes=(*table.notes, *_unit_notes(table)))


def _unit_notes(table: ModelTable) -> list[str]:
    """A warning for each clean column that is hardly in per cent."""
    used = {setting.clean for setting in table.settings} - {""}
    return [
        f"Clean accuracies ({name}) are at most {100 * np.nanmax(table.column(name)):.2g} %. If they are "
        f"fractions, declare {option('unit', [f'{name}=fraction'])}."
        for name in sorted(used)
        if np.nanmax(table.column(name), initial=0.0) <= LOW_CLEAN
    ]


def _refuse_repeated(sources: Sequence[str | Path | ScoredRun]) -> None:
    """Refuse a table that is given twice."""
    paths = [Path(source).resolve() for source in sources if not isinstance(source, ScoredRun)]
    repeated = next((path for path in paths if paths.count(path) > 1), None)
    if repeated is not None:
        raise UserError(f"{repeated.name} is given twice; give each table once.")


def _is_run(path: Path) -> bool:
    return (path / RECIPE_FILE).is_file()


def _runs_inside(source: str | Path | ScoredRun) -> list[str | Path | ScoredRun]:
    """The run folders of a folder that is no run itself; the source itself if there are none."""
    if isinstance(source, ScoredRun) or _is_run(Path(source)) or not Path(source).is_dir():
        return [source]
    return [*sorted(path for path in Path(source).iterdir() if _is_run(path))] or [source]


def _read_file(
    path: Path, units: Sequence[str], ignored: Sequence[str], scores: Mapping[str, Direction]
) -> ModelTable:
    """The table at a path, by its content."""
    if is_timm_folder(path):
        return read_timm_results(path, units)
    if path.is_dir():
        raise UserError(
            f"{path} is neither a run folder, a folder of run folders, nor a folder of timm's results "
            "(results-imagenet-a.csv and others); give one of them, or a CSV file."
        )
    if not path.is_file():
        raise UserError(
            f"No such table: {path}. Give run folders, a CSV file, or a folder of timm's results."
        )
    rows = csv_rows(path)
    if is_robustbench(rows):
        return read_robustbench(path, rows, units, ignored)
    if is_timm_header(rows[0]):
        return read_timm_results(path, units)
    return read_wide_csv(path, rows, units, ignored, scores)


def _refuse_unknown_columns(files: Sequence[Path], ignored: Sequence[str]) -> None:
    """Refuse a column to ignore that no CSV file has; `fog` and `fog:3` are columns of RobustBench."""
    if not ignored:
        return
    known = {cell for path in files if path.is_file() for cell in csv_rows(path)[0] if cell}
    for name in ignored:
        if not {name, name.partition(":")[0]} & known:
            raise unknown_name("column", name, known)


def _score_direction(text: str) -> tuple[str, Direction]:
    """The name and the direction of a score: declared by its metric, or written after a colon."""
    name, _, written = text.rpartition(":")
    if written in get_args(Direction):
        return name, written  # type: ignore[return-value]  # one of the directions
    metric = metric_of(metric_named(text))
    if metric is None or metric.direction == "none":
        raise UserError(
            f"{option('scores', [text])} does not say whether lower or higher is better; write "
            f"{option('scores', [f'{text}:lower'])} or {option('scores', [f'{text}:higher'])}."
        )
    return text, metric.direction


def _with_clean(table: ModelTable, clean: str) -> ModelTable:
    """The table in which every accuracy has its clean column: its own, or the one named or recognised."""
    if clean == NO_CLEAN:
        return table.with_settings(lambda setting: replace(setting, clean=""))
    if clean:
        table.setting(clean)
    else:
        candidates = tuple(setting.name for setting in table.of_role("clean"))
        clean = clean_column(candidates)
    if not clean:
        return table

    def change(setting: Setting) -> Setting:
        if setting.name == clean:
            return replace(setting, role="clean", clean="")
        if setting.clean or setting.role == "clean" or not setting.is_accuracy:
            return setting
        return replace(setting, clean=clean)

    return table.with_settings(change)
