"""Comparison of the run with public models, if tables of their results were given."""

from __future__ import annotations

from typing import Any

from windtunnel.report.public_placement import placement_content, placement_figures, placement_markdown
from windtunnel.report.sections import Content, Document, ReportInput, Section


class PublicModels(Section):
    """Clean and shifted accuracy of the run and of public models."""

    name = "public-models"
    title = "Comparison with public models"
    help = "Clean and shifted accuracy of the run and of public models (report --public)."
    order = 1200
    json_order = 80

    def data(self, inputs: ReportInput) -> dict[str, Any]:
        return {"public": [placement_content(placement, [inputs.run]) for placement in inputs.placed]}

    def applies(self, document: Document) -> bool:
        return bool(document["public"])

    def content(self, document: Document, inputs: ReportInput) -> Content:
        return Content(figures=placement_figures(inputs.placed))

    def markdown(self, document: Document) -> list[str]:
        return placement_markdown(document["public"])


public_models = PublicModels()
