"""Warnings about implausible numbers."""

from __future__ import annotations

from typing import Any

from windtunnel.analysis.plausibility import implausible
from windtunnel.report.sections import ANY_TASK, Document, ReportInput, Section


class Warnings(Section):
    """Warnings to read before any number."""

    name = "warnings"
    title = "Warnings"
    help = "Reasons to doubt the numbers: errors near chance, undeclared preprocessing."
    order = 100
    json_order = 10
    tasks = ANY_TASK

    def data(self, inputs: ReportInput) -> dict[str, Any]:
        return {"warnings": implausible(inputs.run)}

    def applies(self, document: Document) -> bool:
        return bool(document["warnings"])

    def markdown(self, document: Document) -> list[str]:
        return [f"> **Warning:** {warning}\n" for warning in document["warnings"]]


warnings = Warnings()
