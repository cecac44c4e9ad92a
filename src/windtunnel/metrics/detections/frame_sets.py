"""pm-k of detections: average precision when each anchor is swapped for the worst frame near it.

AP(f) is the average precision of one frame f alone, mean over the categories that it has objects of; a frame
without objects has none. N_k(a) are the frames within k frames of the anchor a.

pm-0  = AP of the anchors together
pm-k  = AP of the frames w_k(a) together, w_k(a) = the frame of {a} and N_k(a) with the smallest AP(f)
drop  = pm-0 - pm-k

The worst frame is chosen for each anchor alone. AP of all frames together is no sum of these, so pm-k is not
the smallest AP that any choice of frames has, and may even exceed pm-0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.records import FrameChoices
from windtunnel.metrics.detections.matches import (
    B,
    DetectedRun,
    Matches,
    match,
    taken,
    without_categories,
)
from windtunnel.metrics.frame_sets import FrameSets, frame_sets, left_out
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure

Places = NDArray[np.int64]


@dataclass(frozen=True)
class JudgedFrames:
    """A run's frame sets, and how good its detections are on every frame.

    Attributes:
        sets: the sets whose frames all have a prediction.
        choices: how the worst frame is chosen.
        matches: the detections of all frames, matched at the chosen IoU.
        precision: average precision of every frame alone; NaN for frames without objects.
        localisation: whether categories are ignored.
    """

    sets: FrameSets
    choices: FrameChoices
    matches: Matches
    precision: NDArray[np.float64]
    localisation: bool

    def worst(self, k: int) -> Places:
        """The frame that replaces each anchor: the worst within k frames."""
        sets = self.sets
        near = np.flatnonzero(sets.within(k))
        owner, rows, offsets = sets.owner[near], sets.rows[near], sets.offsets[near]
        alone = np.arange(len(sets.anchors))
        if self.choices.anchor == "excluded":
            alone = np.setdiff1d(alone, owner)
        owner = np.concatenate([alone, owner])
        rows = np.concatenate([sets.anchors[alone], rows])
        offsets = np.concatenate([np.zeros(len(alone), np.int64), offsets])
        distance = np.abs(offsets) if self.choices.ties == "nearest" else offsets
        # Frames without objects come last, the anchor before others; earlier frames before later ones.
        precision = np.where(np.isnan(self.precision[rows]), np.inf, self.precision[rows])
        distance = np.where(np.isinf(precision), np.abs(offsets), distance)
        order = np.lexsort((offsets, distance, precision, owner))
        first = np.searchsorted(owner[order], np.arange(len(sets.anchors)))
        return np.asarray(rows[order[first]], np.int64)


# Several metrics use the same frames.
_JUDGED: WeakKeyDictionary[DetectedRun, dict[bool, JudgedFrames | None]] = WeakKeyDictionary()


def judge_detections(run: ScoredRun, *, localisation: bool = False) -> JudgedFrames | None:
    """A run's frame sets and the precision of every frame; None if no set is complete."""
    judged = _JUDGED.setdefault(run.detected, {})
    if localisation not in judged:
        judged[localisation] = _judge(run, localisation=localisation)
    return judged[localisation]


def _judge(run: ScoredRun, *, localisation: bool) -> JudgedFrames | None:
    if run.frame_sets is None:
        return None
    seen = run.detected
    sets = frame_sets(run.frame_sets, seen.ids)
    if not sets.names:
        return None
    choices = (run.natural.choices if run.natural else None) or FrameChoices()
    found, true = seen.found(seen.conditions[0]), seen.true
    if localisation:
        found, true = without_categories(found), without_categories(true)
    matches = match(found, true, len(seen.ids), np.array([choices.iou]))
    precision = frame_precisions(matches, count_absent=choices.absent == "counted")
    return JudgedFrames(sets, choices, matches, precision, localisation)


def frame_precisions(matches: Matches, *, count_absent: bool = False) -> NDArray[np.float64]:
    """Average precision of each image alone, mean over the categories that it has objects of.

    With `count_absent`, categories of detections that it has no object of count with a precision of 0. NaN
    for an image without any of these categories.
    """
    by_image = np.argsort(matches.found.image, kind="stable"), np.argsort(matches.true.image, kind="stable")
    numbers = np.arange(matches.images + 1)
    found_ends = np.searchsorted(matches.found.image[by_image[0]], numbers)
    true_ends = np.searchsorted(matches.true.image[by_image[1]], numbers)
    precisions = np.full(matches.images, np.nan)
    for image in range(matches.images):
        rows = by_image[0][found_ends[image] : found_ends[image + 1]]
        found = taken(matches.found, rows)
        true = taken(matches.true, by_image[1][true_ends[image] : true_ends[image + 1]])
        own = set(true.category.tolist())
        if own:
            single = Matches(1, _in_one_image(found), matches.outcome[rows], _in_one_image(true))
            precisions[image] = single.precisions(np.ones((1, 1)))[0, 0]
        if count_absent and (absent := set(found.category.tolist()) - own):
            precisions[image] = np.nan_to_num(precisions[image]) * len(own) / (len(own) + len(absent))
    return precisions


def pm_precisions(run: ScoredRun, metric: str, *, localisation: bool = False) -> list[Measure]:
    """Average precision of the anchors (pm-0), and of the worst frames within every k."""
    judged = judge_detections(run, localisation=localisation)
    if judged is None:
        return []
    return [
        _measure(judged, metric, f"pm-{k}", _formula(judged, k), judged.worst(k))
        for k in (0, *judged.sets.distances)
    ]


def pm_drops(run: ScoredRun, metric: str, *, localisation: bool = False) -> list[Measure]:
    """Average precision of the anchors minus that of the worst frames within every k."""
    judged = judge_detections(run, localisation=localisation)
    if judged is None:
        return []
    anchors = judged.worst(0)
    return [
        _measure(
            judged, metric, f"pm-{k}", f"pm-0 minus pm-{k}: {_formula(judged, k)}", judged.worst(k), anchors
        )
        for k in judged.sets.distances
    ]


def offset_errors(run: ScoredRun, metric: str, *, localisation: bool = False) -> list[Measure]:
    """1 minus the average precision of single frames, mean over the frames at each offset."""
    judged = judge_detections(run, localisation=localisation)
    if judged is None:
        return []
    sets, measures = judged.sets, []
    rows = np.concatenate([sets.anchors, sets.rows])
    owner = np.concatenate([np.arange(len(sets.anchors)), sets.owner])
    offsets = np.concatenate([np.zeros(len(sets.anchors), np.int64), sets.offsets])
    scored = ~np.isnan(judged.precision[rows])
    for offset in np.unique(offsets):
        here = np.flatnonzero((offsets == offset) & scored)
        if not len(here):
            continue
        measures.append(
            Measure(
                metric,
                f"{offset:+d}",
                f"1 - average precision of one frame, mean over frames at this offset; {_rules(judged)}",
                (),
                1 - judged.precision[rows[here], None],
                limits=(0.0, 1.0),
                rows=sets.anchors[owner[here]],
                detail=left_out(sets),
            )
        )
    return measures


def detection_frame_notes(run: ScoredRun) -> list[str]:
    """Notes on pm-k of detections."""
    judged = judge_detections(run)
    if judged is None:
        return ["No pm-k: no frame set is complete."] if run.frame_sets is not None else []
    sets, choices = judged.sets, judged.choices
    lines = [
        f"pm-k of detections: each anchor is swapped for the frame within k frames whose own AP is smallest "
        f"({_rules(judged)}). Ties: {choices.ties} frame. Anchor {choices.anchor}. The choice is made for "
        "each anchor alone, so pm-k is not the smallest possible AP."
    ]
    without = int(np.isnan(judged.precision[np.unique(np.concatenate([sets.anchors, sets.rows]))]).sum())
    if without:
        lines.append(f"{without:,} frames have no object: they have no AP and are never the worst frame.")
    if sets.left_out:
        lines.append(f"{sets.left_out:,} frame sets are left out because one of their frames failed.")
    return lines


def _measure(
    judged: JudgedFrames,
    metric: str,
    condition: str,
    formula: str,
    frames: Places,
    minus: Places | None = None,
) -> Measure:
    """Average precision of frames, one for each anchor; that of `minus` minus it, if given."""
    own = [judged.matches.per_image[frames], judged.precision[frames, None]]
    if minus is not None:
        own += [judged.matches.per_image[minus], judged.precision[minus, None]]
    return Measure(
        metric,
        condition,
        formula,
        (),
        np.nan_to_num(np.hstack(own)),
        of_weights=partial(_precision, judged.matches, frames, minus),
        limits=(0.0, 1.0) if minus is None else (-1.0, 1.0),
        rows=judged.sets.anchors,
        detail=left_out(judged.sets),
    )


def _precision(
    matches: Matches, frames: Places, minus: Places | None, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Average precision of frames with weights of anchors (replicates, anchors)."""
    own = _of_frames(matches, frames, weights)
    return own if minus is None else _of_frames(matches, minus, weights) - own


def _of_frames(matches: Matches, frames: Places, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    of_images = np.zeros((len(weights), matches.images))
    np.add.at(of_images.T, frames, weights.T)
    return matches.precisions(of_images)[:, 0]


def _in_one_image(boxes: B) -> B:
    return replace(boxes, image=np.zeros_like(boxes.image))


def _rules(judged: JudgedFrames) -> str:
    text = f"IoU {judged.choices.iou:g}"
    if judged.localisation:
        return f"{text}, whatever the categories"
    return f"{text}, false positives of absent categories {judged.choices.absent}"


def _formula(judged: JudgedFrames, k: int) -> str:
    text = f"average precision at 101 recall points, IoU {judged.choices.iou:g}, "
    text += "whatever the categories" if judged.localisation else "mean over categories"
    if not k:
        return f"{text}, of anchor frames"
    return f"{text}, of the frame with the smallest AP within {k} frame{'s' if k > 1 else ''} of each anchor"
