"""Negative log-likelihood."""

from __future__ import annotations

import numpy as np

from windtunnel.core.metrics import metric
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.proper_scores import condition_means, negative_log_likelihood
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="lower", unit="nats", needs=("labels", "probabilities"), sliceable=True)
def nll(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Negative log-likelihood of every condition, and its mean over the corruptions."""
    if not seen.gives_probabilities:
        return []
    formula = "-ln of the label's probability in nats; of several labels, the highest-ranked one counts"
    values = negative_log_likelihood(seen.label_log_probability)
    return condition_means(run, seen, "nll", formula, values, (0, np.inf))
