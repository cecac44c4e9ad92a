"""Brier score."""

from __future__ import annotations

import numpy as np

from windtunnel.core.metrics import metric
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.proper_scores import brier_score, condition_means
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="lower", unit="", needs=("labels", "probabilities"), sliceable=True)
def brier(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Brier score of every condition, and its mean over the corruptions."""
    if not seen.gives_probabilities:
        return []
    label = np.exp(seen.label_log_probability)
    formula = (
        "sum over classes of (probability - 1 for the label, else 0)^2, from 0 to 2; "
        "of several labels, the highest-ranked one counts"
    )
    return condition_means(run, seen, "brier", formula, brier_score(seen.sum_p2, label), (0, 2))
