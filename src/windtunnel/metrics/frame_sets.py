"""Frame sets of videos (pm-k): is a model still right when the camera moves a few frames on?

A set is an anchor frame a and N_k(a), the accepted frames within k frames of it. With r(f) = 1 where the
model is right on frame f, and A anchors:

pm-0                   = 1/A sum over a of r(a)
pm-k                   = 1/A sum over a of r(a) * min over f in N_k(a) of r(f)
pm-k, anchor excluded  = 1/A sum over a of min over f in N_k(a) of r(f); where N_k(a) is empty the min is 1
drop                   = pm-0 - pm-k

The published scorers require the anchor to be right too; the formula as printed leaves it out. An anchor
without accepted frames counts as its anchor alone does. A set with a frame that failed leaves whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windtunnel.data.frame_sets import ANCHOR, ONE_VIDEO
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.stats.measure import Measure, exact_interval, log_odds_interval

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

Truths = NDArray[np.bool_]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class FrameSets:
    """Which frames belong to which anchor.

    Attributes:
        names: of the sets.
        anchors: of every set, the row of its anchor among the images.
        rows: of every neighbour, its row among the images.
        owner: of every neighbour, its set.
        offsets: of every neighbour, how many frames after the anchor it is.
        left_out: sets left out because a frame of theirs is not among the images.
    """

    names: tuple[str, ...]
    anchors: Places
    rows: Places
    owner: Places
    offsets: Places
    left_out: int = 0

    @cached_property
    def distances(self) -> list[int]:
        """How far from their anchors frames are, ascending: between these pm-k stays what it is."""
        return [int(one) for one in np.unique(np.abs(self.offsets[self.offsets != 0]))]

    @property
    def largest(self) -> int:
        """The largest distance from an anchor."""
        return max(self.distances, default=0)

    def within(self, k: int) -> Truths:
        """Which neighbours are within k frames of their anchor."""
        return np.abs(self.offsets) <= k


def frame_sets(table: pa.Table, ids: NDArray[np.object_]) -> FrameSets:
    """The sets of a table (group, sample_id, offset, role) whose frames are all among these images.

    Sets stand in the order of their anchors, neighbours in the order of their sets.
    """
    rows = {one: row for row, one in enumerate(ids.tolist())}
    frames = np.array([rows.get(one, -1) for one in table["sample_id"].to_pylist()], np.int64)
    names, group = np.unique(np.array(table["group"].to_pylist(), str), return_inverse=True)
    is_anchor = np.array(table["role"].to_pylist(), str) == ANCHOR
    anchors = np.full(len(names), -1, np.int64)
    anchors[group[is_anchor]] = frames[is_anchor]
    anchors[group[frames < 0]] = -1
    kept = np.argsort(anchors, kind="stable")[(anchors < 0).sum() :]
    place = np.full(len(names), -1, np.int64)
    place[kept] = np.arange(len(kept))
    near = np.flatnonzero((place[group] >= 0) & ~is_anchor)
    near = near[np.argsort(place[group[near]], kind="stable")]
    offsets = table["offset"].to_numpy().astype(np.int64)
    return FrameSets(
        tuple(names[kept].tolist()),
        anchors[kept],
        frames[near],
        place[group[near]],
        offsets[near],
        len(names) - len(kept),
    )


def worst_within(sets: FrameSets, anchor_right: Truths, right: Truths, k: int) -> Truths:
    """Of every set, whether its anchor and all frames within k of it are right.

    Args:
        sets: the sets.
        anchor_right: of every set, whether its anchor is right; all true to leave anchors out.
        right: of every neighbour, whether it is right.
        k: how far from the anchor frames count.
    """
    wrong = np.bincount(sets.owner[sets.within(k) & ~right], minlength=len(sets.names))
    return np.asarray(anchor_right & (wrong == 0), np.bool_)


def mean_over_frames(
    sets: FrameSets, anchor_right: Truths, right: Truths
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of every set, how many of its frames are right, the anchor among them, and how many there are."""
    count = len(sets.names)
    near = np.bincount(sets.owner, right, minlength=count), np.bincount(sets.owner, minlength=count)
    return np.asarray(anchor_right + near[0], np.float64), np.asarray(1 + near[1], np.float64)


@dataclass(frozen=True)
class Judged:
    """A run's frame sets, and where it is right.

    Attributes:
        sets: the sets whose frames were all predicted.
        anchor_right: of every set, whether its anchor is right.
        right: of every neighbour, whether it is right.
    """

    sets: FrameSets
    anchor_right: Truths
    right: Truths

    def pm(self, k: int, *, anchor: bool = True) -> Truths:
        """Of every set, whether all frames within k are right, the anchor among them or left out."""
        held = self.anchor_right if anchor else np.ones_like(self.anchor_right)
        return worst_within(self.sets, held, self.right, k)


def judge_frames(run: ScoredRun) -> Judged | None:
    """A run's frame sets, and where it is right by each frame's labels; None where it has no whole set."""
    if run.frame_sets is None:
        return None
    seen = run.observed
    sets = frame_sets(run.frame_sets, seen.ids)
    if not sets.names:
        return None
    right = seen.rank[:, 0] == 0
    return Judged(sets, right[sets.anchors], right[sets.rows])


def pm_k(run: ScoredRun, _seen: Observed) -> list[Measure]:
    """pm-0, and pm-k for every k at which there are frames, the anchor required to be right too."""
    found = judge_frames(run)
    if found is None:
        return []
    words = "share of anchor frames that are right"
    return [
        _measure(found, "pm_k", f"pm-{k}", words + (_all_within(k) if k else ""), found.pm(k))
        for k in (0, *found.sets.distances)
    ]


def pm_k_anchor_excluded(run: ScoredRun, _seen: Observed) -> list[Measure]:
    """pm-k for every k at which there are frames, whatever was said of the anchor."""
    found = judge_frames(run)
    if found is None:
        return []
    words = (
        "share of anchor frames all of whose accepted frames within {k} frames are right, whatever was said "
        "of the anchor itself; anchors without such frames count as right"
    )
    return [
        _measure(found, "pm_k_anchor_excluded", f"pm-{k}", words.format(k=k), found.pm(k, anchor=False))
        for k in found.sets.distances
    ]


def pm_drop(run: ScoredRun, _seen: Observed) -> list[Measure]:
    """What the frames within k cost: pm-0 less pm-k, the share of anchors that only these make wrong."""
    found = judge_frames(run)
    if found is None:
        return []
    words = "share of anchor frames that are right, less the share that are right"
    return [
        replace(
            # pm-k needs the anchor, so no anchor is gained: a share, with a share's interval.
            _measure(found, "pm_drop", f"pm-{k}", words + _all_within(k), found.anchor_right & ~found.pm(k)),
            limits=(0, 1),
        )
        for k in found.sets.distances
    ]


def frame_accuracy(run: ScoredRun, _seen: Observed) -> list[Measure]:
    """Share of right frames, of each set and then over sets: the mean beside pm-k's worst frame."""
    found = judge_frames(run)
    if found is None:
        return []
    right, frames = mean_over_frames(found.sets, found.anchor_right, found.right)
    formula = "share of right frames, anchor included, of each set; mean over sets"
    one = _measure(found, "frame_accuracy", "", formula, right / frames)
    return [replace(one, limits=(0, 1), interval_of=log_odds_interval)]


def frame_accuracy_pooled(run: ScoredRun, _seen: Observed) -> list[Measure]:
    """Share of right frames, all sets' frames pooled, so that large sets count for more."""
    found = judge_frames(run)
    if found is None:
        return []
    formula = "share of right frames, anchors included, the frames of all sets pooled"
    columns = np.stack(mean_over_frames(found.sets, found.anchor_right, found.right), axis=1)
    one = Measure("frame_accuracy_pooled", "", formula, (), columns)
    detail = "; ".join(filter(None, (f"{columns[:, 1].sum():,.0f} frames", _left_out(found.sets))))
    return [replace(one, combine=_ratio, limits=(0, 1), rows=found.sets.anchors, detail=detail)]


def offset_error(run: ScoredRun, _seen: Observed) -> list[Measure]:
    """Share of wrong frames at every offset, of the sets whose anchor is right."""
    found = judge_frames(run)
    formula = "share of frames so far from their anchor that are wrong, of sets whose anchor is right"
    return [] if found is None else _by_offset(found, "offset_error", formula, found.anchor_right)


def offset_error_all(run: ScoredRun, _seen: Observed) -> list[Measure]:
    """Share of wrong frames at every offset, of all sets, the anchors' own at offset 0."""
    found = judge_frames(run)
    if found is None:
        return []
    formula = "share of frames so far from their anchor that are wrong, of all sets"
    every = _by_offset(found, "offset_error_all", formula, np.ones_like(found.anchor_right))
    anchors = _measure(found, "offset_error_all", "0", formula, ~found.anchor_right)
    before = sum(int(one.condition) < 0 for one in every)
    return [*every[:before], anchors, *every[before:]]


def frame_notes(run: ScoredRun) -> list[str]:
    """What a reader of pm-k must know."""
    found = judge_frames(run)
    # Of frames that could not be read the plan knows; a model fails on others.
    one_video = run.group_found and len(run.group_values(run.observed.kept)) == 1
    lines = [ONE_VIDEO] if one_video else []
    if found is None:
        return [*lines, "No pm-k: no frame set is whole."] if run.frame_sets is not None else []
    sets = found.sets
    lines += [
        "pm-k asks that the anchor is right too, as the published scorers do; pm_k_anchor_excluded is the "
        "formula as printed, which leaves it out."
    ]
    alone = len(sets.names) - len(np.unique(sets.owner))
    if alone:
        lines.append(f"{alone:,} anchors have no frame beside them: pm-k takes them as their anchor is.")
    if sets.left_out:
        lines.append(f"{sets.left_out:,} frame sets are left out whole: a frame of theirs failed.")
    return lines


def _by_offset(found: Judged, metric: str, formula: str, counted: Truths) -> list[Measure]:
    """Errors of the frames at each offset, of the sets that count."""
    sets, measures = found.sets, []
    for offset in np.unique(sets.offsets[sets.offsets != 0]):
        here = np.flatnonzero((sets.offsets == offset) & counted[sets.owner])
        if not len(here):
            continue
        wrong, owner = ~found.right[here], sets.owner[here]
        measures.append(_measure(found, metric, f"{offset:+d}", formula, wrong, owner))
    return measures


def _measure(
    found: Judged,
    metric: str,
    condition: str,
    formula: str,
    values: NDArray[Any],
    sets: Places | None = None,
) -> Measure:
    """A share of anchors, or of some of them, with the exact interval."""
    some = np.arange(len(found.sets.names)) if sets is None else sets
    return Measure(
        metric,
        condition,
        formula,
        (),
        values[:, None],
        rows=found.sets.anchors[some],
        interval_of=exact_interval,
        detail=_left_out(found.sets),
    )


def _ratio(means: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(means[..., 0] / means[..., 1], np.float64)


def _all_within(k: int) -> str:
    return f" together with every accepted frame within {k} frame{'s' if k > 1 else ''}"


def _left_out(sets: FrameSets) -> str:
    return f"{sets.left_out:,} sets left out, a frame of theirs failed" if sets.left_out else ""
