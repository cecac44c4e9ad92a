"""A leaderboard as an HTML page, CSV, JSON and Markdown."""

from __future__ import annotations

import os
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from windtunnel.analysis.leaderboard import BoardCell, BoardColumn, BoardRow, Leaderboard, sign_of
from windtunnel.report.accuracy_drops import numbered
from windtunnel.report.comparison import rows_csv
from windtunnel.report.markdown_table import markdown_table, plain
from windtunnel.report.page import render_page
from windtunnel.report.score_format import direction_text, number, scale, unit

CSV_COLUMNS = (
    "model", "family", "parameters", "suite", "metric", "condition", "value", "low", "high", "n",
    "comparable", "not_comparable", "run",
)  # fmt: skip
NOT_COMPARABLE = "≠"


def render_leaderboard(board: Leaderboard, folder: Path) -> str:
    """The HTML page of a leaderboard; links to reports are relative to the page's folder."""
    suites = [
        (suite, len(list(columns)))
        for suite, columns in groupby(board.columns, key=lambda column: column.suite)
    ]
    return render_page(
        "leaderboard.html.j2",
        {},
        suites=suites,
        columns=[_column_content(column) for column in board.columns],
        rows=[
            _row_content(row, name, board, folder)
            for row, name in zip(board.rows, row_names(board), strict=True)
        ],
        notes=leaderboard_notes(board),
    )


def row_names(board: Leaderboard) -> list[str]:
    """The name of every row: the model's, numbered if several rows share it."""
    return numbered([row.model for row in board.rows])


def leaderboard_notes(board: Leaderboard) -> list[str]:
    """A sentence for every run that is not comparable, and for every reason to doubt a run."""
    runs = [(name, run) for name, row in zip(row_names(board), board.rows, strict=True) for run in row.runs]
    unlike = [
        f"{name}, {run.suite}: not comparable with the other runs of the suite: {run.not_comparable}."
        for name, run in runs
        if run.not_comparable
    ]
    return [*unlike, *(f"{name}, {run.suite}: {text}" for name, run in runs for text in run.warnings)]


def _column_content(column: BoardColumn) -> dict[str, Any]:
    return {
        "title": column.title,
        "suite": column.suite,
        "unit": unit(column.metric),
        "direction": direction_text(column.metric),
        "is_family": column.is_family,
        "higher": sign_of(column.metric) < 0,
    }


def _row_content(row: BoardRow, name: str, board: Leaderboard, folder: Path) -> dict[str, Any]:
    return {
        "name": name,
        "facts": ", ".join(filter(None, (row.family, _parameters(row.parameters), *row.tags))),
        "parameters": row.parameters,
        "reports": [
            {"suite": run.suite, "link": _link(run.run, folder) if run.has_report else ""} for run in row.runs
        ],
        "cells": [_cell_content(cell, column) for cell, column in zip(row.cells, board.columns, strict=True)],
    }


def _cell_content(cell: BoardCell | None, column: BoardColumn) -> dict[str, Any] | None:
    if cell is None:
        return None
    score, metric = cell.score, column.metric
    return {
        "value": number(score.value, metric),
        "interval": f"{number(score.low, metric)} to {number(score.high, metric)}",
        "sort": scale(metric) * score.value,
        "n": score.n,
        "not_comparable": cell.not_comparable,
    }


def _parameters(count: int) -> str:
    return (
        f"{count / 1e6:,.1f} M parameters" if count >= 100_000 else f"{count:,} parameters" if count else ""
    )


def _link(run: str, folder: Path) -> str:
    """The address of a run's report relative to the page; absolute addresses stay."""
    if "://" in run:
        return f"{run}/report.html"
    return quote(Path(os.path.relpath(Path(run) / "report.html", folder)).as_posix())


def leaderboard_document(board: Leaderboard) -> dict[str, Any]:
    """A leaderboard as one JSON document; values are fractions, or in the unit of their metric."""
    return {
        "schema": 1,
        "columns": [asdict(column) for column in board.columns],
        "models": [
            {
                "name": name,
                "model": row.model,
                "family": row.family,
                "parameters": row.parameters,
                "tags": list(row.tags),
                "scores": [
                    {
                        **cell.score.to_json(),
                        "suite": column.suite,
                        "comparable": not cell.not_comparable,
                        "not_comparable": cell.not_comparable,
                    }
                    for cell, column in zip(row.cells, board.columns, strict=True)
                    if cell
                ],
                "runs": [asdict(run) for run in row.runs],
            }
            for name, row in zip(row_names(board), board.rows, strict=True)
        ],
        "notes": leaderboard_notes(board),
    }


def leaderboard_csv(board: Leaderboard) -> str:
    """Every score of a leaderboard as CSV, a line each."""
    rows = []
    for name, row in zip(row_names(board), board.rows, strict=True):
        folders = {run.suite: run.run for run in row.runs}
        for cell, column in zip(row.cells, board.columns, strict=True):
            if cell:
                score = cell.score
                rows.append(
                    [
                        name, row.family, row.parameters, column.suite, column.metric, column.condition,
                        score.value, score.low, score.high, score.n,
                        "no" if cell.not_comparable else "yes", cell.not_comparable, folders[column.suite],
                    ]
                )  # fmt: skip
    return rows_csv(CSV_COLUMNS, rows)


def leaderboard_markdown(board: Leaderboard) -> str:
    """A leaderboard as a Markdown table, with notes."""
    several = len({column.suite for column in board.columns}) > 1
    header = ["model"]
    for column in board.columns:
        words = [f"{column.suite}:" if several else "", f"{column.title},", unit(column.metric)]
        header.append(" ".join(filter(None, words)).rstrip(","))
    rows = [
        [name, *(_markdown_cell(cell, column) for cell, column in zip(row.cells, board.columns, strict=True))]
        for name, row in zip(row_names(board), board.rows, strict=True)
    ]
    notes = leaderboard_notes(board)
    table = markdown_table(list(map(plain, header)), [list(map(plain, row)) for row in rows])
    lines = [*table, *([""] if notes else []), *(f"- {plain(note)}" for note in notes)]
    return "\n".join(lines) + "\n"


def _markdown_cell(cell: BoardCell | None, column: BoardColumn) -> str:
    if cell is None:
        return "–"
    value, low, high = (
        number(value, column.metric) for value in (cell.score.value, cell.score.low, cell.score.high)
    )
    return f"{value} [{low}, {high}]{f' {NOT_COMPARABLE}' if cell.not_comparable else ''}"
