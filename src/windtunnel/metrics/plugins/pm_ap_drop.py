"""Drop of AP from anchors to the worst frames near them."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.detections.frame_sets import pm_drops
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="lower",
    unit="points",
    title="pm-k AP drop",
    needs=("objects", "frame sets"),
    across_parts=True,
    task="detection",
)
def pm_ap_drop(run: ScoredRun, _seen: object) -> list[Measure]:
    """AP of the anchors minus AP of the worst frames within k frames of them."""
    return pm_drops(run, "pm_ap_drop")
