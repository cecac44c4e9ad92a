"""Drop of localisation AP from anchors to the worst frames near them."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.detections.frame_sets import pm_drops
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="lower",
    unit="points",
    title="pm-k localisation AP drop",
    needs=("objects", "frame sets"),
    across_parts=True,
    task="detection",
)
def pm_localisation_ap_drop(run: ScoredRun, _seen: object) -> list[Measure]:
    """AP of the anchors minus AP of the worst frames near them, whatever the categories."""
    return pm_drops(run, "pm_localisation_ap_drop", localisation=True)
