"""AP of detections."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.detections.matches import THRESHOLDS
from windtunnel.metrics.detections.precision import condition_precisions
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="higher", title="AP", needs=("objects",), task="detection", headline=True)
def ap(run: ScoredRun, _seen: object) -> list[Measure]:
    """Average precision of every condition, mean over the IoU thresholds .50 to .95."""
    return condition_precisions(run, "ap", tuple(THRESHOLDS))
