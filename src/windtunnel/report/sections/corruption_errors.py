"""Corruption error (CE) by corruption."""

from __future__ import annotations

from typing import Any

from windtunnel.report.sections import Content, Document, ReportInput, Section


class CorruptionErrors(Section):
    """A table of CE, a row per corruption."""

    name = "corruption-errors"
    title = "Corruption error"
    help = "The corruption error (CE) of every corruption with its 95 % interval."
    order = 1300

    @property
    def shows(self) -> tuple[str, ...]:
        """CE."""
        return ("ce",)

    def applies(self, document: Document) -> bool:
        return bool(_corruption_errors(document))

    def content(self, document: Document, inputs: ReportInput) -> Content:
        return Content({"ces": _corruption_errors(document)})


def _corruption_errors(document: Document) -> list[dict[str, Any]]:
    return [score for score in document["scores"] if score["metric"] == "ce"]


corruption_errors = CorruptionErrors()
