"""A run's scores as data: one JSON document, one CSV table."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from windtunnel.analysis.public_placement import Placed
from windtunnel.core.scores import Score
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.sections import ReportInput, add_section_data


def run_document(run: ScoredRun, scores: list[Score], placed: Sequence[Placed] = ()) -> dict[str, Any]:
    """What the report shows, as one JSON document: facts of the run, and the data of every section.

    `placed` is the run among public models, where tables of those were given.
    """
    document = {
        "schema": 1,
        "run": str(run.path),
        "recipe_digest": run.digest,
        "info": run.info.to_json(),
        "recipe": run.recipe.to_json(),
        # Whose scores divide CE, FR and their like; "" for AlexNet's published ones.
        "baseline": str(run.baseline.info.model.name) if run.baseline else "",
    }
    add_section_data(document, ReportInput(run, scores, placed))
    return document


CSV_COLUMNS = (
    "metric", "condition", "corruption", "severity", "codec", "value", "low", "high", "n", "recipe",
    "formula",
)  # fmt: skip


def scores_csv(scores: list[Score]) -> str:
    """The scores as CSV, fractions, one line each."""
    return csv_text(CSV_COLUMNS, scores)


def csv_text(columns: Sequence[str], rows: Sequence[object]) -> str:
    """Objects as CSV: a line each, an attribute per column."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([getattr(row, column) for column in columns])
    return out.getvalue()
