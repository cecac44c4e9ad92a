"""Frame sets of videos (pm-k): are predictions still correct a few frames away?

A set is an anchor frame a and N_k(a), the accepted frames within k frames of it. With r(f) = 1 where the
model is right on frame f, and A anchors:

pm-0                   = 1/A sum over a of r(a)
pm-k                   = 1/A sum over a of r(a) * min over f in N_k(a) of r(f)
pm-k, anchor excluded  = 1/A sum over a of min over f in N_k(a) of r(f); where N_k(a) is empty the min is 1
drop                   = pm-0 - pm-k

The published scorers require the anchor to be correct too; the formula in the paper omits it. For an anchor
without accepted frames, only the anchor counts. A set with a failed frame is excluded as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windtunnel.data.frame_sets import ANCHOR, ONE_VIDEO
from windtunnel.stats.measure import Measure, exact_interval

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

Truths = NDArray[np.bool_]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class FrameSets:
    """Which frames belong to which anchor.

    Attributes:
        names: names of the sets.
        anchors: for every set, the row of its anchor among the images.
        rows: for every neighbour, its row among the images.
        owner: for every neighbour, its set.
        offsets: for every neighbour, its offset from the anchor in frames.
        left_out: number of sets left out because one of their frames is not among the images.
    """

    names: tuple[str, ...]
    anchors: Places
    rows: Places
    owner: Places
    offsets: Places
    left_out: int = 0

    @cached_property
    def distances(self) -> list[int]:
        """Distances of frames from their anchors, ascending: pm-k changes only at these k."""
        return [int(distance) for distance in np.unique(np.abs(self.offsets[self.offsets != 0]))]

    @property
    def largest(self) -> int:
        """The largest distance from an anchor."""
        return max(self.distances, default=0)

    def within(self, k: int) -> Truths:
        """Which neighbours are within k frames of their anchor."""
        return np.abs(self.offsets) <= k


def frame_sets(table: pa.Table, ids: NDArray[np.object_]) -> FrameSets:
    """The sets of a table (group, sample_id, offset, role) whose frames are all among these images.

    Sets are in the order of their anchors, neighbours in the order of their sets.
    """
    rows = {id_: row for row, id_ in enumerate(ids.tolist())}
    frames = np.array([rows.get(id_, -1) for id_ in table["sample_id"].to_pylist()], np.int64)
    names, group = np.unique(np.array(table["group"].to_pylist(), str), return_inverse=True)
    is_anchor = np.array(table["role"].to_pylist(), str) == ANCHOR
    anchors = np.full(len(names), -1, np.int64)
    anchors[group[is_anchor]] = frames[is_anchor]
    anchors[group[frames < 0]] = -1
    complete = np.argsort(anchors, kind="stable")[(anchors < 0).sum() :]
    place = np.full(len(names), -1, np.int64)
    place[complete] = np.arange(len(complete))
    near = np.flatnonzero((place[group] >= 0) & ~is_anchor)
    near = near[np.argsort(place[group[near]], kind="stable")]
    offsets = table["offset"].to_numpy().astype(np.int64)
    return FrameSets(
        tuple(names[complete].tolist()),
        anchors[complete],
        frames[near],
        place[group[near]],
        offsets[near],
        len(names) - len(complete),
    )


def worst_within(sets: FrameSets, anchor_right: Truths, right: Truths, k: int) -> Truths:
    """For every set, whether its anchor and all frames within k of it are correct.

    Args:
        sets: the sets.
        anchor_right: for every set, whether its anchor is correct; all true to leave anchors out.
        right: for every neighbour, whether it is correct.
        k: the largest distance from the anchor at which frames count.
    """
    wrong = np.bincount(sets.owner[sets.within(k) & ~right], minlength=len(sets.names))
    return np.asarray(anchor_right & (wrong == 0), np.bool_)


def mean_over_frames(
    sets: FrameSets, anchor_right: Truths, right: Truths
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For every set, its number of correct frames and of all frames, anchor included."""
    count = len(sets.names)
    near = np.bincount(sets.owner, right, minlength=count), np.bincount(sets.owner, minlength=count)
    return np.asarray(anchor_right + near[0], np.float64), np.asarray(1 + near[1], np.float64)


@dataclass(frozen=True)
class Judged:
    """A run's frame sets, and which frames it predicts correctly.

    Attributes:
        sets: the sets whose frames were all predicted.
        anchor_right: for every set, whether its anchor is correct.
        right: for every neighbour, whether it is correct.
    """

    sets: FrameSets
    anchor_right: Truths
    right: Truths

    def pm(self, k: int, *, anchor: bool = True) -> Truths:
        """For every set, whether all frames within k are correct, with or without the anchor."""
        held = self.anchor_right if anchor else np.ones_like(self.anchor_right)
        return worst_within(self.sets, held, self.right, k)


def judge_frames(run: ScoredRun) -> Judged | None:
    """A run's frame sets and correct frames, by each frame's labels; None if no set is complete."""
    if run.frame_sets is None:
        return None
    seen = run.observed
    sets = frame_sets(run.frame_sets, seen.ids)
    if not sets.names:
        return None
    right = seen.correct[:, 0]
    return Judged(sets, right[sets.anchors], right[sets.rows])


def frame_notes(run: ScoredRun) -> list[str]:
    """Notes on pm-k."""
    judged = judge_frames(run)
    # The plan lists unreadable frames; the model may fail on others.
    one_video = run.group_found and len(run.group_values(run.observed.kept)) == 1
    lines = [ONE_VIDEO] if one_video else []
    if judged is None:
        return [*lines, "No pm-k: no frame set is complete."] if run.frame_sets is not None else []
    sets = judged.sets
    lines += [
        "pm-k requires a correct anchor too, as the published scorers do. pm_k_anchor_excluded is the "
        "paper's formula, which omits the anchor."
    ]
    alone = len(sets.names) - len(np.unique(sets.owner))
    if alone:
        lines.append(
            f"{alone:,} anchors have no other accepted frame: for them pm-k is the accuracy on the anchor."
        )
    if sets.left_out:
        lines.append(f"{sets.left_out:,} frame sets are left out because one of their frames failed.")
    return lines


def errors_by_offset(judged: Judged, metric: str, formula: str, counted: Truths) -> list[Measure]:
    """Error of the frames at each offset, over the given sets."""
    sets, measures = judged.sets, []
    for offset in np.unique(sets.offsets[sets.offsets != 0]):
        here = np.flatnonzero((sets.offsets == offset) & counted[sets.owner])
        if not len(here):
            continue
        wrong, owner = ~judged.right[here], sets.owner[here]
        measures.append(anchor_share(judged, metric, f"{offset:+d}", formula, wrong, owner))
    return measures


def anchor_share(
    judged: Judged,
    metric: str,
    condition: str,
    formula: str,
    values: NDArray[Any],
    sets: Places | None = None,
) -> Measure:
    """A share of all or of some anchors, with the exact interval."""
    members = np.arange(len(judged.sets.names)) if sets is None else sets
    return Measure(
        metric,
        condition,
        formula,
        (),
        values[:, None],
        rows=judged.sets.anchors[members],
        interval_of=exact_interval,
        detail=left_out(judged.sets),
    )


def all_within(k: int) -> str:
    """A description of the frames that must be correct."""
    return f" together with every accepted frame within {k} frame{'s' if k > 1 else ''}"


def left_out(sets: FrameSets) -> str:
    """The number of sets left out as text; "" for none."""
    return f"{sets.left_out:,} sets left out because a frame failed" if sets.left_out else ""
