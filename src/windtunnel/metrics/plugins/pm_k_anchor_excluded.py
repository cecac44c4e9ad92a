"""pm-k accuracy without the anchor frames."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.frame_sets import anchor_share, judge_frames
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="higher", needs=("labels", "frame sets"), across_parts=True)
def pm_k_anchor_excluded(run: ScoredRun, _seen: Observed) -> list[Measure]:
    """Share of anchor frames all of whose frames within k are correct, whatever the anchor's prediction."""
    judged = judge_frames(run)
    if judged is None:
        return []
    words = (
        "share of anchor frames all of whose accepted frames within {k} frames are correct, whatever the "
        "prediction on the anchor itself; anchors without such frames count as correct"
    )
    return [
        anchor_share(judged, "pm_k_anchor_excluded", f"pm-{k}", words.format(k=k), judged.pm(k, anchor=False))
        for k in judged.sets.distances
    ]
