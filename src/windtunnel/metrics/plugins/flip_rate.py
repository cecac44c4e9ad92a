"""Flip rate."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.flip_rates import ratio, why_not_normalised
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import FLIPS
from windtunnel.stats.measure import Measure


@metric(direction="lower", title="FR", needs=("sequences", "normaliser"), why_missing=why_not_normalised)
def flip_rate(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Flip probability of every sequence, normalised by a baseline run or by AlexNet's published one."""
    return ratio(FLIPS, run, seen)
