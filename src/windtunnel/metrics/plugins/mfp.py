"""Mean flip probability."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import FLIPS, mean
from windtunnel.stats.measure import Measure


@metric(direction="lower", title="mFP", headline=True, needs=("sequences",), sliceable=True)
def mfp(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Mean of the flip probabilities of all sequences of the run."""
    return mean(FLIPS, run, seen)
