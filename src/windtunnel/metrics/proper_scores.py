"""Proper scores: Brier and negative log-likelihood, from the label's probability.

With p the probabilities and l the label:

Brier = sum_k (p_k - [k = l])^2 = sum_k p_k^2 - 2 p_l + 1      from 0 to 2
NLL   = -ln p_l                                                in nats

If an image has several labels, the highest-ranked one counts as the label.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.metrics.error import corruption_columns
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.stats.measure import Measure

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

Numbers = NDArray[np.float64]


def brier_score(sum_p2: Numbers, label_probability: Numbers) -> Numbers:
    """Multi-class Brier score of each prediction: sum_k p_k^2 - 2 p_label + 1."""
    return np.maximum(sum_p2 - 2 * label_probability + 1, 0.0)


def negative_log_likelihood(label_log_probability: Numbers) -> Numbers:
    """-ln p_label of each prediction, in nats."""
    return -np.minimum(label_log_probability, 0.0)


def condition_means(
    run: ScoredRun, seen: Observed, metric: str, formula: str, values: Numbers, limits: tuple[float, float]
) -> list[Measure]:
    """The mean of every condition, and the mean over all corruptions."""
    if len(seen.ids) < 2:
        return []
    measures = [
        Measure(metric, name, formula, (name,), values[:, [column]], limits=limits)
        for column, name in enumerate(seen.conditions)
    ]
    columns = corruption_columns(run)
    if columns:
        parts = tuple(seen.conditions[column] for column in columns)
        what = f"{formula}; mean over {len(columns)} corrupted conditions"
        weights = np.full(len(columns), 1 / len(columns))
        measures.append(Measure(metric, "", what, parts, values[:, columns], weights, limits=limits))
    return measures
