"""Scores that no other section shows."""

from __future__ import annotations

from typing import Any

from windtunnel.core.metrics import headline_titles
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.score_format import score_cells
from windtunnel.report.sections import ANY_TASK, REGISTRY, Content, Document, ReportInput, Section


class OtherScores(Section):
    """A table per metric; Markdown lists only scores over all conditions."""

    name = "other-scores"
    title = "Other scores"
    help = "Scores that no other section shows, a table per metric."
    order = 1800
    tasks = ANY_TASK

    def content(self, document: Document, inputs: ReportInput) -> Content:
        return Content({"others": _remaining_scores(document)})

    def markdown(self, document: Document) -> list[str]:
        heads = headline_titles()
        rows = [
            [score["metric"], *score_cells(score), score["formula"]]
            for score in document["scores"]
            if not score["condition"] and score["metric"] not in heads
        ]
        header = ["score", "value", "95 % interval", "n", "definition"]
        return [f"## {self.title}", "", *markdown_table(header, rows)] if rows else []


def _remaining_scores(document: Document) -> dict[str, list[dict[str, Any]]]:
    """The scores that no other section shows, by metric."""
    shown = {metric for section in REGISTRY.all() for metric in section.shows}
    heads = headline_titles()
    remaining: dict[str, list[dict[str, Any]]] = {}
    for score in document["scores"]:
        if score["metric"] not in shown and (score["condition"] or score["metric"] not in heads):
            remaining.setdefault(score["metric"], []).append(score)
    # The score over all conditions comes first.
    return {
        metric: sorted(scores, key=lambda score: score["condition"] != "")
        for metric, scores in remaining.items()
    }


other_scores = OtherScores()
