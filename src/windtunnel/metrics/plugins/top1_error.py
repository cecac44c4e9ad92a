"""Top-1 error."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.error import condition_errors
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="lower", title="error", sliceable=True)
def top1_error(_run: ScoredRun, seen: Observed) -> list[Measure]:
    """Top-1 error of every condition."""
    return condition_errors(seen, 1, "share of images whose predicted class is not the label")
