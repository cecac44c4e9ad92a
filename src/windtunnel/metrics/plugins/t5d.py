"""Top-5 distance."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.flip_rates import ratio, why_not_normalised
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import TOP_FIVE
from windtunnel.stats.measure import Measure


@metric(direction="lower", title="T5D", needs=("sequences", "normaliser"), why_missing=why_not_normalised)
def t5d(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Top-5 distance of every sequence, normalised by a baseline run or by AlexNet's published one."""
    return ratio(TOP_FIVE, run, seen)
