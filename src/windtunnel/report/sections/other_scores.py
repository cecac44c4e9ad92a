"""The scores that no other section shows."""

from __future__ import annotations

from typing import Any

from windtunnel.core.metrics import headline_titles
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.score_format import score_cells
from windtunnel.report.sections import REGISTRY, Content, Document, ReportInput, Section


class OtherScores(Section):
    """A table per metric; Markdown has the scores over all conditions."""

    name = "other-scores"
    title = "Other scores"
    help = "Scores that no other section shows, a table per metric."
    order = 1800

    def content(self, document: Document, given: ReportInput) -> Content:
        return Content({"others": _others(document)})

    def markdown(self, document: Document) -> list[str]:
        heads = headline_titles()
        rows = [
            [score["metric"], *score_cells(score), score["formula"]]
            for score in document["scores"]
            if not score["condition"] and score["metric"] not in heads
        ]
        header = ["score", "value", "95 % interval", "n", "what it is"]
        return [f"## {self.title}", "", *markdown_table(header, rows)] if rows else []


def _others(document: Document) -> dict[str, list[dict[str, Any]]]:
    """The scores that are nowhere else on the page, by metric."""
    shown = {metric for section in REGISTRY.all() for metric in section.shows}
    heads = headline_titles()
    found: dict[str, list[dict[str, Any]]] = {}
    for score in document["scores"]:
        if score["metric"] not in shown and (score["condition"] or score["metric"] not in heads):
            found.setdefault(score["metric"], []).append(score)
    # The score over all conditions first.
    return {
        metric: sorted(scores, key=lambda one: one["condition"] != "") for metric, scores in found.items()
    }


other_scores = OtherScores()
