"""pm-k of localisation."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.detections.frame_sets import pm_precisions
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="higher",
    title="pm-k localisation AP",
    needs=("objects", "frame sets"),
    across_parts=True,
    task="detection",
)
def pm_k_localisation_ap(run: ScoredRun, _seen: object) -> list[Measure]:
    """AP of the worst frames within k frames of the anchors, whatever the categories."""
    return pm_precisions(run, "pm_k_localisation_ap", localisation=True)
