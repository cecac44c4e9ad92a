"""All conditions with their top-1 and top-5 errors, or all sequences with their scores."""

from __future__ import annotations

from typing import Any

from windtunnel.report.sections import Content, Document, ReportInput, Section
from windtunnel.report.sections.sequences import SEQUENCE_BARS

ERRORS = ("top1_error", "top5_error")


class Conditions(Section):
    """A row per condition."""

    name = "conditions"
    title = "All conditions"
    help = "A table of all conditions: top-1 and top-5 error, or the scores of every sequence."
    order = 1900

    @property
    def shows(self) -> tuple[str, ...]:
        """The errors of single conditions."""
        return ERRORS

    def applies(self, document: Document) -> bool:
        return bool(_error_rows(document) or document["sequences"])

    def content(self, document: Document, inputs: ReportInput) -> Content:
        return Content({"rows": _error_rows(document), "sequences": _sequence_rows(document)})


def _error_rows(document: Document) -> list[dict[str, Any]]:
    """One row per condition with its top-1 and, if present, top-5 error."""
    by_condition: dict[str, dict[str, Any]] = {}
    for score in document["scores"]:
        if score["metric"] in ERRORS:
            by_condition.setdefault(score["condition"], {})[score["metric"]] = score
    return [{"condition": name, **scores} for name, scores in by_condition.items()]


def _sequence_rows(document: Document) -> list[dict[str, Any]]:
    """One row per sequence with its scores by metric; empty if the run has no flip probabilities."""
    if not any(score["metric"] == "flip_probability" for score in document["scores"]):
        return []
    return [
        row
        | {
            score["metric"]: score
            for score in document["scores"]
            if score["condition"] == row["condition"] and score["metric"] in SEQUENCE_BARS
        }
        for row in document["sequences"]
    ]


conditions = Conditions()
