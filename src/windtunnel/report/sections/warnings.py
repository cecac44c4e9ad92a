"""Warnings about a run whose numbers cannot be right."""

from __future__ import annotations

from typing import Any

from windtunnel.analysis.plausibility import implausible
from windtunnel.report.sections import Document, ReportInput, Section


class Warnings(Section):
    """What must be read before any number."""

    name = "warnings"
    title = "Warnings"
    help = "What makes the numbers doubtful: errors near chance, undeclared preprocessing."
    order = 100
    json_order = 10

    def data(self, given: ReportInput) -> dict[str, Any]:
        return {"warnings": implausible(given.run)}

    def applies(self, document: Document) -> bool:
        return bool(document["warnings"])

    def markdown(self, document: Document) -> list[str]:
        return [f"> **Warning:** {warning}\n" for warning in document["warnings"]]


warnings = Warnings()
