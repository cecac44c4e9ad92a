"""Frame sets on the page: pm-k against k, error by offset, sets that fail near a right anchor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from windtunnel.metrics.frame_sets import Judged, judge_frames
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.figures import COLOURS, DASHES, error_bars
from windtunnel.report.sections import Content, Document, ReportInput, Section
from windtunnel.report.source_images import (
    class_names,
    label_of,
    no_originals,
    open_originals,
    prediction_name,
    thumbnail,
)

SETS_SHOWN = 6
SETS_LISTED = 20
# Frames that are shown on each side of an anchor, the nearest.
FRAMES_SHOWN = 10
FRAME_PX = 80
RIGHT, WRONG = COLOURS[2], COLOURS[1]

# Curves by metric: what the legend calls them.
PM_CURVES = {"pm_k": "anchor required (pm-k)", "pm_k_anchor_excluded": "anchor excluded"}
OFFSET_CURVES = {"offset_error": "given a right anchor", "offset_error_all": "of all sets"}


class FrameSets(Section):
    """pm-k, errors by offset, and the sets that fail near a correct anchor."""

    name = "frame-sets"
    title = "Right on every frame near the anchor"
    help = "Frame sets of videos: pm-k against k, error by offset, and the worst sets with their frames."
    order = 700
    json_order = 110

    def data(self, given: ReportInput) -> dict[str, Any]:
        return {"frames": frame_section(given.run)}

    def applies(self, document: Document) -> bool:
        return bool(document["frames"])

    def content(self, document: Document, given: ReportInput) -> Content:
        return Content({"sets": worst_sets(given.run)}, frame_figures(document))


@dataclass(frozen=True)
class ShownFrame:
    """One frame of a set: where it is, what was said of it, and whether that is right."""

    offset: int
    said: str
    right: bool
    image: str

    @property
    def colour(self) -> str:
        """Of what was said."""
        return RIGHT if self.right else WRONG


@dataclass(frozen=True)
class ShownSet:
    """A set whose anchor is right and whose frames are not."""

    name: str
    label: str
    wrong: int
    of: int
    nearest: int
    frames: list[ShownFrame]


@dataclass(frozen=True)
class WorstSets:
    """Sets to look at, and why there are not more."""

    shown: list[ShownSet]
    note: str


def frame_section(run: ScoredRun) -> dict[str, Any]:
    """The frame sets of a run as data: how many, and which fail most near a right anchor; {} for none."""
    found = judge_frames(run)
    if found is None:
        return {}
    names = found.sets.names
    return {
        "sets": len(names),
        "largest": found.sets.largest,
        "left_out": found.sets.left_out,
        "worst": [
            {"set": names[place], "label": label_of(run, _anchor_id(run, found, place)), "wrong": wrong,
             "of": of, "nearest": nearest}
            for place, wrong, of, nearest in _worst(found, SETS_LISTED)
        ],
    }  # fmt: skip


def worst_sets(run: ScoredRun, count: int = SETS_SHOWN) -> WorstSets:
    """The sets that fail most near a right anchor, with their frames as far as they are still there."""
    found = judge_frames(run)
    if found is None:
        return WorstSets([], "")
    chosen = list(_worst(found, count))
    if not chosen:
        return WorstSets([], "No set whose anchor is right has a wrong frame.")
    originals = open_originals(run)
    if originals is None:
        return WorstSets([], no_originals(run))
    names, seen = class_names(run), run.observed
    shown = []
    for place, wrong, of, nearest in chosen:
        frames = []
        for offset, row, right in _frames_of(found, place):
            made = originals.under(str(seen.ids[row]), seen.conditions[0])
            if made:
                said = int(seen.chosen[row, 0])
                image = thumbnail(made[0][0], FRAME_PX)
                frames.append(ShownFrame(offset, prediction_name(names, said), right, image))
        if frames:
            label = label_of(run, _anchor_id(run, found, place))
            shown.append(ShownSet(found.sets.names[place], label, wrong, of, nearest, frames))
    return WorstSets(shown, originals.note)


def frame_figures(document: Mapping[str, Any]) -> dict[str, Any]:
    """pm-k against k and error by offset, where the document has their scores."""
    found = {
        "pm_k": _curves(document, PM_CURVES, "k, frames from the anchor", "right, %"),
        "offsets": _curves(document, OFFSET_CURVES, "frames after the anchor", "wrong, %"),
    }
    return {name: figure for name, figure in found.items() if figure["data"]}


def _curves(document: Mapping[str, Any], metrics: Mapping[str, str], x: str, y: str) -> dict[str, Any]:
    """A line per metric over the number in its condition's name, with bars for the intervals."""
    traces = []
    for place, (metric, name) in enumerate(metrics.items()):
        scores = [one for one in document["scores"] if one["metric"] == metric]
        if scores:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": name,
                    "x": [int(one["condition"].removeprefix("pm-")) for one in scores],
                    "y": [100 * one["value"] for one in scores],
                    "error_y": error_bars(scores, 100),
                    "line": {"color": COLOURS[place], "dash": DASHES[place]},
                    "customdata": [one["n"] for one in scores],
                    "hovertemplate": f"%{{x}}: %{{y:.1f}} %, n = %{{customdata:,}}<extra>{name}</extra>",
                }
            )
    return {
        "data": traces,
        "layout": {
            "xaxis": {"title": {"text": x}},
            "yaxis": {"title": {"text": y}, "rangemode": "tozero"},
            "height": 380,
            "showlegend": True,
        },
    }


def _worst(found: Judged, count: int) -> Iterator[tuple[int, int, int, int]]:
    """Sets with a right anchor by their wrong frames: place, wrong frames, of how many, nearest of them.

    The larger share of wrong frames first, then the nearer one.
    """
    sets = found.sets
    wrong = np.bincount(sets.owner[~found.right], minlength=len(sets.names))
    of = np.bincount(sets.owner, minlength=len(sets.names))
    nearest = np.full(len(sets.names), np.iinfo(np.int64).max)
    np.minimum.at(nearest, sets.owner[~found.right], np.abs(sets.offsets[~found.right]))
    order = np.lexsort((nearest, -wrong / np.maximum(of, 1)))
    for place in [one for one in order if wrong[one] and found.anchor_right[one]][:count]:
        yield int(place), int(wrong[place]), int(of[place]), int(nearest[place])


def _frames_of(found: Judged, place: int) -> list[tuple[int, int, bool]]:
    """Of a set's nearest frames and its anchor: offset, row among the images, and whether it is right."""
    sets = found.sets
    near = np.flatnonzero((sets.owner == place) & sets.within(FRAMES_SHOWN))
    frames = [(int(sets.offsets[one]), int(sets.rows[one]), bool(found.right[one])) for one in near]
    return sorted([*frames, (0, int(sets.anchors[place]), bool(found.anchor_right[place]))])


def _anchor_id(run: ScoredRun, found: Judged, place: int) -> str:
    return str(run.observed.ids[found.sets.anchors[place]])


frame_sets = FrameSets()
