"""Mean flip rate."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.flip_rates import mean_ratio, why_no_mean
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import FLIPS
from windtunnel.stats.measure import Measure


@metric(
    direction="lower", title="mFR", headline=True, needs=("sequences", "normaliser"), why_missing=why_no_mean
)
def mfr(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Mean of the flip rates (FR) of ImageNet-P's 10 sequences."""
    return mean_ratio(FLIPS, run, seen)
