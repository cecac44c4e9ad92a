"""Zipf-weighted distance of rankings."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import SIGMA, discounted
from windtunnel.metrics.stability import zipf_weight
from windtunnel.stats.measure import Measure


@metric(direction="lower", unit="", needs=("sequences",))
def zipf_distance(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Distance between the rankings of classes in compared frames, of every sequence; rank i has weight
    1/i.

    Needs every class's score of every frame (--keep logits).
    """
    words = f"sum over ranks i of w_i * |w_i - w_sigma(i)|, w_i = 1/i, {SIGMA}"
    return discounted("zipf_distance", zipf_weight, words, run, seen)
