"""Error by family of corruptions: a figure and tables."""

from __future__ import annotations

from typing import Any

from windtunnel.metrics.families import FAMILY_ERROR
from windtunnel.report.figures import error_markers
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.sections import Content, Document, ReportInput, Section


class Families(Section):
    """Top-1 error of noise, blur, weather, digital and other families."""

    name = "families"
    title = "Error by family"
    help = "Top-1 error of every family of corruptions (noise, blur, weather, digital) with its interval."
    order = 780

    @property
    def shows(self) -> tuple[str, ...]:
        """The errors of families."""
        return (FAMILY_ERROR,)

    def applies(self, document: Document) -> bool:
        return len(_families(document)) > 1

    def content(self, document: Document, inputs: ReportInput) -> Content:
        families = _families(document)
        by_name = {score["condition"]: score for score in families}
        return Content({"families": families}, figures={"families": error_markers(by_name)})

    def markdown(self, document: Document) -> list[str]:
        rows = [
            [
                score["condition"],
                f"{100 * score['value']:.1f}",
                f"{100 * score['low']:.1f} to {100 * score['high']:.1f}",
                f"{len(score['parts'])}",
            ]
            for score in _families(document)
        ]
        header = ["family", "top-1 error, %", "95 % interval", "conditions"]
        return [f"## {self.title}", "", *markdown_table(header, rows)]


def _families(document: Document) -> list[dict[str, Any]]:
    """The scores of the families."""
    return [score for score in document["scores"] if score["metric"] == FAMILY_ERROR]


families = Families()
