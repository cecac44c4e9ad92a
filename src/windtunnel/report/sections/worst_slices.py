"""The worst classes, sizes and other slices of a run, for the page."""

from __future__ import annotations

import json
from typing import Any

from windtunnel.core.labels import IMAGENET_1K
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.slices import MINIMUM, Slice, group_of_images, slices
from windtunnel.published.imagenet import imagenet_names
from windtunnel.report.sections import Document, ReportInput, Section

SHOWN = 10
# A column with more values than this divides images into names, not into kinds.
MOST_VALUES = 20
# Columns that name images, however few there are; and the parts of a natural set, scored on their own.
NAMES = ("id", "path", "file", "filename", "part", "video")


class WorstSlices(Section):
    """The worst slices by class, size and other columns."""

    name = "worst-slices"
    title = "Where it fails"
    help = "The classes, image sizes and values of other columns with the highest error."
    order = 1600
    json_order = 120

    def data(self, given: ReportInput) -> dict[str, Any]:
        return {"slices": slice_tables(given.run)}

    def applies(self, document: Document) -> bool:
        return bool(document["slices"])


def slice_tables(run: ScoredRun) -> list[dict[str, Any]]:
    """By class, by size and by every column with few values: the worst slices of the run's main score."""
    metric = _metric(run)
    if not metric:
        return []
    found = []
    for by in ("class", "size", *_columns(run)):
        groups = group_of_images(run, by)
        if len(groups) < 2:
            continue
        rows = slices(run, by, metric)
        found.append(
            {
                "by": by,
                "metric": metric,
                "formula": rows[0].formula if rows else "",
                "groups": len(groups),
                "left_out": len(groups) - len(rows),
                "minimum": MINIMUM,
                "alike": len({round(row.shrunk, 12) for row in rows}) == 1 and len(rows) > 1,
                "rows": [_row(run, row) for row in rows[:SHOWN]],
            }
        )
    return found


def _metric(run: ScoredRun) -> str:
    """The mean error or mFP where there is one, else the clean error; "" where nothing is scored."""
    if not len(run.observed.ids) or not run.observed.conditions:
        return ""
    wanted = [
        *(["mean_error"] if run.corruptions else []),
        *(["mfp"] if run.sequences else []),
        "top1_error",
    ]
    return next((metric for metric in wanted if metric in run.metrics), "")


def _columns(run: ScoredRun) -> list[str]:
    """Columns of the data's table that divide the images into few kinds."""
    if "meta" not in run.samples.column_names:
        return []
    values: dict[str, set[str]] = {}
    for text in set(run.samples["meta"].to_pylist()):
        for name, value in json.loads(text).items():
            values.setdefault(name, set()).add(str(value))
    return sorted(
        name for name, found in values.items() if 2 <= len(found) <= MOST_VALUES and name not in NAMES
    )


def slice_name(run: ScoredRun, one: Slice) -> str:
    """A slice's name for people: a WordNet id of ImageNet-1k in words."""
    return group_name(run, one.by, one.group)


def group_name(run: ScoredRun, by: str, group: str) -> str:
    """The name of a slice's group for people: a WordNet id of ImageNet-1k in words."""
    words = imagenet_names() if run.recipe.data.label_space == IMAGENET_1K else {}
    return (words.get(group, group) if by == "class" else group).strip()


def _row(run: ScoredRun, one: Slice) -> dict[str, Any]:
    return {
        "group": one.group.strip(),
        "name": slice_name(run, one),
        "value": one.value,
        "low": one.low,
        "high": one.high,
        "n": one.n,
        "shrunk": one.shrunk,
    }


worst_slices = WorstSlices()
