"""Slices with the highest error: classes, image sizes and values of other columns."""

from __future__ import annotations

import json
from typing import Any

from windtunnel.core.labels import IMAGENET_1K
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.slices import MINIMUM, Slice, group_of_images, slices
from windtunnel.published.imagenet import imagenet_names
from windtunnel.report.sections import Document, ReportInput, Section

SLICES_SHOWN = 10
# Columns with more values than this are not used for slices.
MOST_VALUES = 20
# Columns that identify images, and the parts of natural sets, which have their own scores.
EXCLUDED_COLUMNS = ("id", "path", "file", "filename", "part", "video")


class WorstSlices(Section):
    """Tables of the worst slices by class, size and other columns."""

    name = "worst-slices"
    title = "Slices with the highest error"
    help = "The classes, image sizes and values of other columns with the highest error."
    order = 1600
    json_order = 120

    def data(self, inputs: ReportInput) -> dict[str, Any]:
        return {"slices": slice_tables(inputs.run)}

    def applies(self, document: Document) -> bool:
        return bool(document["slices"])


def slice_tables(run: ScoredRun) -> list[dict[str, Any]]:
    """The worst slices of the run's main score by class, by size and by every column with few values."""
    metric = _metric(run)
    if not metric:
        return []
    tables = []
    for by in ("class", "size", *_columns(run)):
        groups = group_of_images(run, by)
        if len(groups) < 2:
            continue
        rows = slices(run, by, metric)
        tables.append(
            {
                "by": by,
                "metric": metric,
                "formula": rows[0].formula if rows else "",
                "groups": len(groups),
                "left_out": len(groups) - len(rows),
                "minimum": MINIMUM,
                "indistinguishable": len({round(row.shrunk, 12) for row in rows}) == 1 and len(rows) > 1,
                "rows": [_row(run, row) for row in rows[:SLICES_SHOWN]],
            }
        )
    return tables


def _metric(run: ScoredRun) -> str:
    """The metric of slices: mean error, mFP or top-1 error; "" if nothing is scored."""
    if not len(run.observed.ids) or not run.observed.conditions:
        return ""
    wanted = [
        *(["mean_error"] if run.corruptions else []),
        *(["mfp"] if run.sequences else []),
        "top1_error",
    ]
    return next((metric for metric in wanted if metric in run.metrics), "")


def _columns(run: ScoredRun) -> list[str]:
    """Columns of the dataset with few different values."""
    if "meta" not in run.samples.column_names:
        return []
    values: dict[str, set[str]] = {}
    for text in set(run.samples["meta"].to_pylist()):
        for name, value in json.loads(text).items():
            values.setdefault(name, set()).add(str(value))
    return sorted(
        name
        for name, distinct in values.items()
        if 2 <= len(distinct) <= MOST_VALUES and name not in EXCLUDED_COLUMNS
    )


def group_name(run: ScoredRun, by: str, group: str) -> str:
    """The name of a slice; for WordNet ids of ImageNet-1k, the class name."""
    names = imagenet_names() if run.recipe.data.label_space == IMAGENET_1K else {}
    return (names.get(group, group) if by == "class" else group).strip()


def _row(run: ScoredRun, slice_: Slice) -> dict[str, Any]:
    return {
        "group": slice_.group.strip(),
        "name": group_name(run, slice_.by, slice_.group),
        "value": slice_.value,
        "low": slice_.low,
        "high": slice_.high,
        "n": slice_.n,
        "shrunk": slice_.shrunk,
    }


worst_slices = WorstSlices()
