"""Frame sets of videos: pm-k against k, error by offset, and sets with errors near a correct anchor."""

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
    SourceImages,
    class_names,
    label_of,
    missing_data_note,
    open_source_images,
    prediction_name,
    thumbnail,
)

SETS_SHOWN = 6
SETS_LISTED = 20
# Number of frames shown on each side of an anchor.
FRAMES_SHOWN = 10
FRAME_PX = 80
CORRECT, INCORRECT = COLOURS[2], COLOURS[1]

# Names of curves by metric.
PM_CURVES = {"pm_k": "anchor required (pm-k)", "pm_k_anchor_excluded": "anchor excluded"}
OFFSET_CURVES = {"offset_error": "sets with a correct anchor", "offset_error_all": "all sets"}


class FrameSets(Section):
    """pm-k, error by offset, and the sets with the most errors near a correct anchor."""

    name = "frame-sets"
    title = "Accuracy over nearby frames (pm-k)"
    help = "Frame sets of videos: pm-k against k, error by offset, and the worst sets with their frames."
    order = 700
    json_order = 110

    def data(self, inputs: ReportInput) -> dict[str, Any]:
        return {"frames": frame_set_data(inputs.run)}

    def applies(self, document: Document) -> bool:
        return bool(document["frames"])

    def content(self, document: Document, inputs: ReportInput) -> Content:
        return Content({"sets": worst_sets(inputs.run)}, frame_figures(document))


@dataclass(frozen=True)
class ShownFrame:
    """A frame of a set: its offset from the anchor, its predicted class, and whether that is correct."""

    offset: int
    predicted: str
    correct: bool
    image: str

    @property
    def colour(self) -> str:
        """The colour of correct or of incorrect predictions."""
        return CORRECT if self.correct else INCORRECT


@dataclass(frozen=True)
class ShownSet:
    """A set with a correct anchor and incorrect frames."""

    name: str
    label: str
    wrong: int
    of: int
    nearest: int
    frames: list[ShownFrame]


@dataclass(frozen=True)
class WorstSets:
    """The sets to show, and a note on those that are missing."""

    shown: list[ShownSet]
    note: str


def frame_set_data(run: ScoredRun) -> dict[str, Any]:
    """Numbers of frame sets, and those with the most errors near a correct anchor; {} if there are none."""
    judged = judge_frames(run)
    if judged is None:
        return {}
    names = judged.sets.names
    return {
        "sets": len(names),
        "largest": judged.sets.largest,
        "left_out": judged.sets.left_out,
        "worst": [
            {"set": names[index], "label": label_of(run, _anchor_id(run, judged, index)), "wrong": wrong,
             "of": of, "nearest": nearest}
            for index, wrong, of, nearest in _worst_indices(judged, SETS_LISTED)
        ],
    }  # fmt: skip


def worst_sets(run: ScoredRun, count: int = SETS_SHOWN) -> WorstSets:
    """The sets with the most errors near a correct anchor, with the frames that are still available."""
    judged = judge_frames(run)
    if judged is None:
        return WorstSets([], "")
    chosen = list(_worst_indices(judged, count))
    if not chosen:
        return WorstSets([], "No set with a correct anchor has an incorrect frame.")
    sources = open_source_images(run)
    if sources is None:
        return WorstSets([], missing_data_note(run))
    shown = []
    for index, wrong, of, nearest in chosen:
        frames = _shown_frames(run, judged, index, sources)
        if frames:
            label = label_of(run, _anchor_id(run, judged, index))
            shown.append(ShownSet(judged.sets.names[index], label, wrong, of, nearest, frames))
    return WorstSets(shown, sources.note)


def _shown_frames(run: ScoredRun, judged: Judged, index: int, sources: SourceImages) -> list[ShownFrame]:
    """The nearest frames of a set that are still available."""
    names, observed = class_names(run), run.observed
    frames = []
    for offset, row, correct in _nearest_frames(judged, index):
        regenerated = sources.frames_under(str(observed.ids[row]), observed.conditions[0])
        if regenerated:
            predicted = prediction_name(names, int(observed.chosen[row, 0]))
            frames.append(ShownFrame(offset, predicted, correct, thumbnail(regenerated[0][0], FRAME_PX)))
    return frames


def frame_figures(document: Mapping[str, Any]) -> dict[str, Any]:
    """Plotly figures of pm-k against k and of error by offset, as far as the document has scores."""
    figures = {
        "pm_k": score_curves(document, PM_CURVES, "k, frames from the anchor", "pm-k, %"),
        "offsets": score_curves(document, OFFSET_CURVES, "offset from the anchor, frames", "top-1 error, %"),
    }
    return {name: figure for name, figure in figures.items() if figure["data"]}


def score_curves(document: Mapping[str, Any], metrics: Mapping[str, str], x: str, y: str) -> dict[str, Any]:
    """A curve per metric over the number in the names of its conditions, with intervals as error bars."""
    traces = []
    for position, (metric, name) in enumerate(metrics.items()):
        scores = [score for score in document["scores"] if score["metric"] == metric]
        if scores:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": name,
                    "x": [int(score["condition"].removeprefix("pm-")) for score in scores],
                    "y": [100 * score["value"] for score in scores],
                    "error_y": error_bars(scores, 100),
                    "line": {"color": COLOURS[position], "dash": DASHES[position]},
                    "customdata": [score["n"] for score in scores],
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


def _worst_indices(judged: Judged, count: int) -> Iterator[tuple[int, int, int, int]]:
    """Index, incorrect frames, frames and offset of the nearest incorrect frame of the worst sets.

    Only sets with a correct anchor. Sorted by the share of incorrect frames, then by the nearest one.
    """
    sets = judged.sets
    wrong = np.bincount(sets.owner[~judged.right], minlength=len(sets.names))
    of = np.bincount(sets.owner, minlength=len(sets.names))
    nearest = np.full(len(sets.names), np.iinfo(np.int64).max)
    np.minimum.at(nearest, sets.owner[~judged.right], np.abs(sets.offsets[~judged.right]))
    order = np.lexsort((nearest, -wrong / np.maximum(of, 1)))
    for index in [index for index in order if wrong[index] and judged.anchor_right[index]][:count]:
        yield int(index), int(wrong[index]), int(of[index]), int(nearest[index])


def _nearest_frames(judged: Judged, index: int) -> list[tuple[int, int, bool]]:
    """Offset, image row and correctness of a set's nearest frames and its anchor."""
    sets = judged.sets
    near = np.flatnonzero((sets.owner == index) & sets.within(FRAMES_SHOWN))
    frames = [(int(sets.offsets[frame]), int(sets.rows[frame]), bool(judged.right[frame])) for frame in near]
    return sorted([*frames, (0, int(sets.anchors[index]), bool(judged.anchor_right[index]))])


def _anchor_id(run: ScoredRun, judged: Judged, index: int) -> str:
    return str(run.observed.ids[judged.sets.anchors[index]])


frame_sets = FrameSets()
