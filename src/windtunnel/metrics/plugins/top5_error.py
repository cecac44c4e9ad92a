"""Top-5 error."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.error import condition_errors
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="lower", sliceable=True)
def top5_error(_run: ScoredRun, seen: Observed) -> list[Measure]:
    """Top-5 error of every condition, where more than five classes compete."""
    formula = "share of images whose label is not among the top five predicted classes"
    return condition_errors(seen, 5, formula)
