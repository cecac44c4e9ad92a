"""Accuracy drop from pm-0 to pm-k."""

from __future__ import annotations

from dataclasses import replace

from windtunnel.core.metrics import metric
from windtunnel.metrics.frame_sets import all_within, anchor_share, judge_frames
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="lower", unit="points", needs=("labels", "frame sets"), across_parts=True)
def pm_drop(run: ScoredRun, _seen: Observed) -> list[Measure]:
    """pm-0 minus pm-k: the share of anchor frames that are correct but have an incorrect frame within k."""
    judged = judge_frames(run)
    if judged is None:
        return []
    words = "share of anchor frames that are correct, minus the share that are correct"
    return [
        replace(
            # pm-k requires a correct anchor, so the drop is a share of anchors and has a share's interval.
            anchor_share(
                judged, "pm_drop", f"pm-{k}", words + all_within(k), judged.anchor_right & ~judged.pm(k)
            ),
            limits=(0, 1),
        )
        for k in judged.sets.distances
    ]
