"""localisation AP of detections."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.detections.matches import THRESHOLDS
from windtunnel.metrics.detections.precision import condition_precisions
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="higher", title="localisation AP", needs=("objects",), task="detection")
def localisation_ap(run: ScoredRun, _seen: object) -> list[Measure]:
    """Average precision of every condition whatever the categories, mean over IoU .50 to .95."""
    return condition_precisions(run, "localisation_ap", tuple(THRESHOLDS), localisation=True)
