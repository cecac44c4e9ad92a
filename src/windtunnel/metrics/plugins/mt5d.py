"""Mean top-5 distance."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.flip_rates import mean_ratio, why_no_mean
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import TOP_FIVE
from windtunnel.stats.measure import Measure


@metric(
    direction="lower", title="mT5D", headline=True, needs=("sequences", "normaliser"), why_missing=why_no_mean
)
def mt5d(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Mean of the normalised top-5 distances (T5D) of ImageNet-P's 10 sequences."""
    return mean_ratio(TOP_FIVE, run, seen)
