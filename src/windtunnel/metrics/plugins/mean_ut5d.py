"""Mean unnormalised top-5 distance."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import TOP_FIVE, mean
from windtunnel.stats.measure import Measure


@metric(
    direction="lower", unit="ranks", title="mean uT5D", headline=True, needs=("sequences",), sliceable=True
)
def mean_ut5d(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Mean of the top-5 distances (uT5D) of all sequences of the run."""
    return mean(TOP_FIVE, run, seen)
