"""AP of detections by severity, corruption and family: curves, a heat map and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windtunnel.metrics.families import FAMILY_MPC
from windtunnel.report.figures import error_markers
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.score_format import number
from windtunnel.report.sections import Content, Document, ReportInput, Section
from windtunnel.report.sections.severity import (
    score_heat_map,
    scores_by_unit,
    severity_curves,
    severity_table,
)

# Metrics of groups of conditions: the mean AP and the same relative to clean images.
GROUPS = {
    "family": (FAMILY_MPC, "family_rpc"),
    "severity": ("severity_mpc", "severity_rpc"),
    "corruption": ("corruption_mpc", "corruption_rpc"),
}


class PrecisionBySeverity(Section):
    """AP of every corruption against severity, and its means by family, severity and corruption."""

    name = "precision-by-severity"
    title = "AP by severity"
    help = "AP of every corruption against severity; mPC and rPC by family, severity and corruption."
    order = 810
    tasks = ("detection",)

    @property
    def shows(self) -> tuple[str, ...]:
        """mPC and rPC of groups of conditions."""
        return tuple(metric for metrics in GROUPS.values() for metric in metrics)

    def applies(self, document: Document) -> bool:
        return bool(scores_by_unit(document, "ap"))

    def content(self, document: Document, inputs: ReportInput) -> Content:
        table = scores_by_unit(document, "ap")
        clean = [100 * score["value"] for score in document["scores"] if _is_clean_ap(score)]
        largest = max([*clean, *(100 * score["value"] for row in table.values() for score in row.values())])
        figures = {
            "ap-curves": severity_curves(document, "ap", "AP"),
            "ap-heat": score_heat_map(table, "AP", "AP, %", most=largest or 100),
        }
        families = {
            score["condition"]: score for score in document["scores"] if score["metric"] == FAMILY_MPC
        }
        if len(families) > 1:
            figures["ap-families"] = error_markers(families, "mPC")
        return Content({"groups": _group_rows(document)}, figures=figures)

    def markdown(self, document: Document) -> list[str]:
        header = ["mean AP", "mPC, %", "95 % interval", "rPC, %", "95 % interval", "conditions"]
        rows = [list(map(str, row)) for rows in _group_rows(document).values() for row in rows]
        return [
            "## AP by corruption and severity",
            "",
            *severity_table(document, "ap", "AP"),
            "",
            "## mPC and rPC",
            "",
            *markdown_table(header, rows),
        ]


def _is_clean_ap(score: dict[str, Any]) -> bool:
    return bool(score["metric"] == "ap" and score["condition"] == "clean")


def _group_rows(document: Document) -> dict[str, list[list[Any]]]:
    """By kind of group, its rows: name, mPC and rPC with intervals, and number of conditions."""
    by_key = {(score["metric"], score["condition"]): score for score in document["scores"]}
    groups: dict[str, list[list[Any]]] = {}
    for kind, (mean, relative) in GROUPS.items():
        for metric, name in by_key:
            if metric == mean:
                score = by_key[metric, name]
                cells = [*_cells(score), *_cells(by_key.get((relative, name)))]
                groups.setdefault(kind, []).append([name, *cells, len(score["parts"])])
    return groups


def _cells(score: dict[str, Any] | None) -> Sequence[str]:
    """Value and interval of a score; empty for a missing one."""
    if score is None:
        return "", ""
    metric = score["metric"]
    interval = f"{number(score['low'], metric)} to {number(score['high'], metric)}"
    return number(score["value"], metric), interval


precision_by_severity = PrecisionBySeverity()
