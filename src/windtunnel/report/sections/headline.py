"""The headline scores, and all scores in scores.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windtunnel.metrics.headlines import head_titles, headline_formula
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.score_format import score_cells
from windtunnel.report.sections import ANY_TASK, Content, Document, ReportInput, Section


class Headline(Section):
    """A card per headline score."""

    name = "headline"
    title = "Headline scores"
    help = "The headline scores with 95 % intervals and formulas; scores.json has all scores."
    order = 200
    json_order = 40
    tasks = ANY_TASK

    def data(self, inputs: ReportInput) -> dict[str, Any]:
        return {"scores": [score.to_json() for score in inputs.scores]}

    def content(self, document: Document, inputs: ReportInput) -> Content:
        return Content({"headline": headline_scores(document)})

    def markdown(self, document: Document) -> list[str]:
        rows = [
            [score["title"], *score_cells(score), score["formula"]] for score in headline_scores(document)
        ]
        if rows:
            return markdown_table(["score", "value", "95 % interval", "n", "definition"], rows)
        reason = "no image has a label." if document["unlabelled"] else "no image could be scored."
        return [f"No error rates: {reason}"]


def headline_scores(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The headline scores of a run's document, each with its `title`."""
    parts = [part["name"] for part in document["recipe"]["data"].get("natural", {}).get("parts", ())]
    scores = {(score["metric"], score["condition"]): score for score in document["scores"]}
    return [
        scores[key] | {"title": title, "formula": headline_formula(str(scores[key]["formula"]))}
        for key, title in head_titles(scores, parts).items()
    ]


headline = Headline()
