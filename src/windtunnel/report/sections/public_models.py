"""The run among public models, where tables of their results were given."""

from __future__ import annotations

from typing import Any

from windtunnel.report.multi_suite import placed_content, placed_figures, public_markdown
from windtunnel.report.sections import Content, Document, ReportInput, Section


class PublicModels(Section):
    """Clean and shifted accuracy of the run among those of public models."""

    name = "public-models"
    title = "Among public models"
    help = "Clean and shifted accuracy among those of public models (report --public)."
    order = 1200
    json_order = 80

    def data(self, given: ReportInput) -> dict[str, Any]:
        return {"public": [placed_content(one, [given.run]) for one in given.placed]}

    def applies(self, document: Document) -> bool:
        return bool(document["public"])

    def content(self, document: Document, given: ReportInput) -> Content:
        return Content(figures=placed_figures(given.placed))

    def markdown(self, document: Document) -> list[str]:
        return public_markdown(document["public"])


public_models = PublicModels()
