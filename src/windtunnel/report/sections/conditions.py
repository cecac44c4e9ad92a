"""Every condition: its top-1 and top-5 errors, or the scores of every sequence."""

from __future__ import annotations

from typing import Any

from windtunnel.report.sections import Content, Document, ReportInput, Section
from windtunnel.report.sections.sequences import SEQUENCE_BARS

ERRORS = ("top1_error", "top5_error")


class Conditions(Section):
    """A row per condition."""

    name = "conditions"
    title = "Every condition"
    help = "A table of all conditions: top-1 and top-5 error, or the scores of every sequence."
    order = 1900

    @property
    def shows(self) -> tuple[str, ...]:
        """Errors of single conditions."""
        return ERRORS

    def applies(self, document: Document) -> bool:
        return bool(_rows(document) or document["sequences"])

    def content(self, document: Document, given: ReportInput) -> Content:
        return Content({"rows": _rows(document), "sequences": _sequences(document)})


def _rows(document: Document) -> list[dict[str, Any]]:
    """One row per condition: its top-1 and, where there is one, top-5 score."""
    by_condition: dict[str, dict[str, Any]] = {}
    for score in document["scores"]:
        if score["metric"] in ERRORS:
            by_condition.setdefault(score["condition"], {})[score["metric"]] = score
    return [{"condition": name, **scores} for name, scores in by_condition.items()]


def _sequences(document: Document) -> list[dict[str, Any]]:
    """One row per sequence with its scores by metric; none without flip probabilities."""
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
