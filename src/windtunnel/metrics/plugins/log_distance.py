"""Log-weighted distance of rankings."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import SIGMA, discounted
from windtunnel.metrics.stability import log_weight
from windtunnel.stats.measure import Measure


@metric(direction="lower", unit="", needs=("sequences",))
def log_distance(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Distance between the rankings of classes in compared frames, of every sequence; rank i has weight
    1/log2(i + 1).

    Needs every class's score of every frame (--keep logits).
    """
    words = f"sum over ranks i of w_i * |w_i - w_sigma(i)|, w_i = 1/log2(i + 1), {SIGMA}"
    return discounted("log_distance", log_weight, words, run, seen)
