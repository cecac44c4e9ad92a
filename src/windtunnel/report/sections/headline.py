"""The headline scores; in scores.json every score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windtunnel.metrics.headlines import head_titles, headline_formula
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.score_format import score_cells
from windtunnel.report.sections import Content, Document, ReportInput, Section


class Headline(Section):
    """A card per headline score."""

    name = "headline"
    title = "Headline scores"
    help = "The headline scores with their 95 % intervals and formulas; in scores.json every score."
    order = 200
    json_order = 40

    def data(self, given: ReportInput) -> dict[str, Any]:
        return {"scores": [score.to_json() for score in given.scores]}

    def content(self, document: Document, given: ReportInput) -> Content:
        return Content({"headline": document_heads(document)})

    def markdown(self, document: Document) -> list[str]:
        rows = [[score["title"], *score_cells(score), score["formula"]] for score in document_heads(document)]
        if rows:
            return markdown_table(["score", "value", "95 % interval", "n", "what it is"], rows)
        why = "no image has a label." if document["unlabelled"] else "no image could be scored."
        return [f"No error rates: {why}"]


def document_heads(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The scores at the head of a run's report, each with its `title`."""
    parts = [part["name"] for part in document["recipe"]["data"].get("natural", {}).get("parts", ())]
    scores = {(one["metric"], one["condition"]): one for one in document["scores"]}
    heads = head_titles(scores, parts)
    return [
        scores[key] | {"title": title, "formula": headline_formula(str(scores[key]["formula"]))}
        for key, title in heads.items()
    ]


headline = Headline()
