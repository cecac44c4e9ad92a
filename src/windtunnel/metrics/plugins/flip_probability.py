"""Flip probability."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import FLIPS, each
from windtunnel.stats.measure import Measure


@metric(direction="lower", title="FP", needs=("sequences",), sliceable=True)
def flip_probability(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Flip probability of every sequence: share of compared frames whose best class differs."""
    return each(FLIPS, run, seen)
