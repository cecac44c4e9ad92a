"""AP75 of detections."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.detections.precision import condition_precisions
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="higher", title="AP75", needs=("objects",), task="detection")
def ap75(run: ScoredRun, _seen: object) -> list[Measure]:
    """Average precision of every condition at IoU .75."""
    return condition_precisions(run, "ap75", (0.75,))
