"""pm-k accuracy of frame sets."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.frame_sets import all_within, anchor_share, judge_frames
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="higher", needs=("labels", "frame sets"), across_parts=True)
def pm_k(run: ScoredRun, _seen: Observed) -> list[Measure]:
    """Share of anchor frames that are correct together with all frames within k; pm-0 is anchors alone."""
    judged = judge_frames(run)
    if judged is None:
        return []
    words = "share of anchor frames that are correct"
    return [
        anchor_share(judged, "pm_k", f"pm-{k}", words + (all_within(k) if k else ""), judged.pm(k))
        for k in (0, *judged.sets.distances)
    ]
