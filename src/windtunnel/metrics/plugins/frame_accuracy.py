"""Accuracy over the frames of frame sets."""

from __future__ import annotations

from dataclasses import replace

from windtunnel.core.metrics import metric
from windtunnel.metrics.frame_sets import anchor_share, judge_frames, mean_over_frames
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure, log_odds_interval


@metric(
    direction="higher",
    title="frame accuracy",
    headline=True,
    needs=("labels", "frame sets"),
    across_parts=True,
)
def frame_accuracy(run: ScoredRun, _seen: Observed) -> list[Measure]:
    """Share of correct frames in each frame set, averaged over the sets."""
    found = judge_frames(run)
    if found is None:
        return []
    right, frames = mean_over_frames(found.sets, found.anchor_right, found.right)
    formula = "share of correct frames in each set, anchor included; mean over sets"
    one = anchor_share(found, "frame_accuracy", "", formula, right / frames)
    return [replace(one, limits=(0, 1), interval_of=log_odds_interval)]
