"""Unnormalised top-5 distance."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import TOP_FIVE, each
from windtunnel.stats.measure import Measure


@metric(direction="lower", unit="ranks", title="uT5D", needs=("sequences",), sliceable=True)
def ut5d(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Top-5 distance of every sequence: mean over compared frames of sum over i = 1..5 of
    |i - min(sigma(i), 6)|, sigma(i) being the later frame's rank of the earlier frame's i-th class.
    """
    return each(TOP_FIVE, run, seen)
