"""Error of corruptions with one strength: a figure and a Markdown table."""

from __future__ import annotations

from typing import Any

from windtunnel.core.records import read_conditions
from windtunnel.report.figures import error_markers
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.sections import Content, Document, ReportInput, Section


class OneStrength(Section):
    """Top-1 error of every corruption that has no severities."""

    name = "one-strength"
    title = "Error by corruption"
    help = "Top-1 error of every corruption with one strength, largest first."
    order = 850

    def applies(self, document: Document) -> bool:
        return bool(errors_by_unit(document))

    def content(self, document: Document, inputs: ReportInput) -> Content:
        return Content(
            {"errors": errors_by_unit(document)},
            figures={"one_strength": error_markers(errors_by_unit(document))},
        )

    def markdown(self, document: Document) -> list[str]:
        rows = [
            [unit, f"{100 * score['value']:.1f}", f"{100 * score['low']:.1f} to {100 * score['high']:.1f}"]
            for unit, score in errors_by_unit(document).items()
        ]
        header = ["corruption with one strength", "top-1 error, %", "95 % interval"]
        return ["## Error by corruption", "", *markdown_table(header, rows)]


def errors_by_unit(document: Document) -> dict[str, dict[str, Any]]:
    """Top-1 error scores of the corruptions with one strength, largest first."""
    scores = {score["condition"]: score for score in document["scores"] if score["metric"] == "top1_error"}
    units = {
        condition.unit: scores[condition.name]
        for condition in read_conditions(document["recipe"]["conditions"])
        if condition.is_corruption and not condition.level and condition.name in scores
    }
    return dict(sorted(units.items(), key=lambda item: -item[1]["value"]))


one_strength = OneStrength()
