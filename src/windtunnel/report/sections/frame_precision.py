"""Frame sets of videos for detectors: AP against k, error by offset, and the worst frame of each anchor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from windtunnel.metrics.detections.frame_sets import JudgedFrames, judge_detections
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.box_drawing import draw_boxes
from windtunnel.report.sections import Content, Document, ReportInput, Section
from windtunnel.report.sections.frame_sets import score_curves
from windtunnel.report.sections.missed_objects import best_f1_score, drawn_boxes
from windtunnel.report.source_images import missing_data_note, open_source_images, thumbnail

SETS_SHOWN = 6
SETS_LISTED = 20
IMAGE_PX = 420
PM_CURVES = {"pm_k_ap": "detection", "pm_k_localisation_ap": "localisation, whatever the categories"}
OFFSET_CURVES = {
    "offset_ap_error": "detection",
    "offset_localisation_error": "localisation, whatever the categories",
}


class FramePrecision(Section):
    """AP over nearby frames, error by offset, and the sets with the largest fall."""

    name = "frame-precision"
    title = "AP over nearby frames (pm-k)"
    help = "Frame sets of videos for detectors: AP against k, error by offset, and the worst frames."
    order = 705
    json_order = 111
    tasks = ("detection",)

    def data(self, inputs: ReportInput) -> dict[str, Any]:
        return {"frame_precision": frame_precision_data(inputs.run)}

    def applies(self, document: Document) -> bool:
        return bool(document["frame_precision"])

    def content(self, document: Document, inputs: ReportInput) -> Content:
        figures = {
            "pm_k_ap": score_curves(document, PM_CURVES, "k, frames from the anchor", "AP, %"),
            "ap_offsets": score_curves(
                document, OFFSET_CURVES, "offset from the anchor, frames", "1 - AP of one frame, %"
            ),
        }
        return Content(
            {"shown": falls_of(inputs.run)},
            {name: figure for name, figure in figures.items() if figure["data"]},
        )


@dataclass(frozen=True)
class Fall:
    """An anchor and the worst frame near it.

    Attributes:
        set: the name of the set.
        worst: the id of the worst frame.
        offset: its offset from the anchor.
        anchor_ap, worst_ap: AP of the two frames alone.
        images: both frames with boxes, as data URIs; () if the data is not available.
    """

    set: str
    worst: str
    offset: int
    anchor_ap: float
    worst_ap: float
    images: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shown:
    """The sets to show, the least score of detections that are drawn, and a note."""

    falls: list[Fall]
    least_score: float
    note: str


def frame_precision_data(run: ScoredRun) -> dict[str, Any]:
    """Numbers of frame sets, how pm-k is measured, and the sets with the largest fall; {} without sets."""
    judged = judge_detections(run)
    if judged is None:
        return {}
    return {
        "sets": len(judged.sets.names),
        "largest": judged.sets.largest,
        "left_out": judged.sets.left_out,
        "choices": {name: getattr(judged.choices, name) for name in judged.choices.__struct_fields__},
        "worst": [
            {"set": fall.set, "worst": fall.worst, "offset": fall.offset, "anchor_ap": fall.anchor_ap,
             "worst_ap": fall.worst_ap}
            for _, _, fall in _largest_falls(run, judged, SETS_LISTED)
        ],
    }  # fmt: skip


def falls_of(run: ScoredRun, count: int = SETS_SHOWN) -> Shown:
    """The sets with the largest fall of AP from the anchor to its worst frame, with both frames."""
    judged = judge_detections(run)
    if judged is None:
        return Shown([], 0.0, "")
    condition = run.detected.conditions[0]
    least = best_f1_score(run.detected.matches(condition))
    chosen = _largest_falls(run, judged, count)
    if not chosen:
        return Shown([], least, "No anchor has a worse frame near it.")
    sources = open_source_images(run)
    if sources is None:
        return Shown([], least, missing_data_note(run))
    falls = []
    for anchor, worst, fall in chosen:
        pair = [(row, sources.frames_under(str(run.detected.ids[row]), condition)) for row in (anchor, worst)]
        images = tuple(
            thumbnail(draw_boxes(made[0][0], drawn_boxes(run, row, condition, least), IMAGE_PX), IMAGE_PX)
            for row, made in pair
            if made
        )
        if len(images) == len(pair):
            falls.append(replace(fall, images=images))
    return Shown(falls, least, sources.note)


def _largest_falls(run: ScoredRun, judged: JudgedFrames, count: int) -> list[tuple[int, int, Fall]]:
    """Rows of anchor and worst frame of the sets with the largest fall; each worst frame once."""
    sets = judged.sets
    worst = judged.worst(sets.largest)
    fall = np.nan_to_num(judged.precision[sets.anchors] - judged.precision[worst])
    chosen: dict[int, tuple[int, int, Fall]] = {}
    for place in np.argsort(-fall, kind="stable"):
        if fall[place] <= 0 or len(chosen) == count:
            break
        near = (sets.owner == place) & (sets.rows == worst[place])
        row, frame = int(sets.anchors[place]), int(worst[place])
        found = Fall(
            sets.names[place],
            str(run.detected.ids[frame]),
            int(sets.offsets[near][0]),
            float(judged.precision[row]),
            float(judged.precision[frame]),
        )
        chosen.setdefault(frame, (row, frame, found))
    return list(chosen.values())


frame_precision = FramePrecision()
