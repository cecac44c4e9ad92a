"""A run's scores as a JSON document and as a CSV table."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from windtunnel.analysis.public_placement import Placed
from windtunnel.core.scores import Score
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.options.command_line import for_command_line
from windtunnel.report.sections import ReportInput, add_section_data


def run_document(run: ScoredRun, scores: list[Score], placed: Sequence[Placed] = ()) -> dict[str, Any]:
    """The content of scores.json: facts of the run and the data of every section.

    Args:
        run: the run.
        scores: its scores.
        placed: the run among public models, if tables of their results were given.
    """
    document = {
        "schema": 1,
        "run": str(run.path),
        "recipe_digest": run.digest,
        "info": run.info.to_json() | {"remarks": [for_command_line(note) for note in run.info.notes]},
        "recipe": run.recipe.to_json(),
        # The model that normalises CE, FR and similar scores; "" for AlexNet's published figures.
        "baseline": str(run.baseline.info.model.name) if run.baseline else "",
    }
    add_section_data(document, ReportInput(run, scores, placed))
    return document


CSV_COLUMNS = (
    "metric", "condition", "corruption", "severity", "codec", "value", "low", "high", "n", "recipe",
    "formula",
)  # fmt: skip


def scores_csv(scores: list[Score]) -> str:
    """The scores as CSV, one line per score; values are fractions."""
    return csv_text(CSV_COLUMNS, scores)


def csv_text(columns: Sequence[str], rows: Sequence[object]) -> str:
    """Objects as CSV: one line per object, one attribute per column."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([getattr(row, column) for column in columns])
    return out.getvalue()
