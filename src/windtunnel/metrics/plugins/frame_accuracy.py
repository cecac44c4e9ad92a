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
    judged = judge_frames(run)
    if judged is None:
        return []
    right, frames = mean_over_frames(judged.sets, judged.anchor_right, judged.right)
    formula = "share of correct frames in each set, anchor included; mean over sets"
    measure = anchor_share(judged, "frame_accuracy", "", formula, right / frames)
    return [replace(measure, limits=(0, 1), interval_of=log_odds_interval)]
