"""Area under the response rate accuracy curve: how well does confidence say which answers to trust?

Answer only the most confident share of images: AURRA is the accuracy at every such share, averaged.

AURRA = mean over k = 1..n of (right answers among the k most confident) / k
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from windtunnel.metrics.confidence import Numbers, Truths, confident_measures, mean_over_ties
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.stats.intervals import accuracy_area_interval
from windtunnel.stats.measure import Measure

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun


def aurra_values(confidence: Numbers, right: Truths) -> Numbers:
    """AURRA as one value per image (images x conditions pooled): AURRA plus the image's influence.

    With a_k the accuracy of the k most confident, a prediction r at place p has the influence
    a_p - AURRA + sum over k >= p of (r - a_k)/k; influences sum to zero. Equal confidences stand in every
    order at once, that is in their mean.
    """
    flat = -confidence.ravel()
    order = np.argsort(flat)  # the order of ties does not matter
    keys, truths = flat[order], right.ravel()[order].astype(np.float64)
    places = np.arange(1, len(keys) + 1)
    accuracy = np.cumsum(mean_over_ties(keys, truths)) / places
    later = np.cumsum((1 / places)[::-1])[::-1]
    beside = accuracy - np.cumsum((accuracy / places)[::-1])[::-1]
    values = np.empty(len(keys))
    values[order] = truths * mean_over_ties(keys, later) + mean_over_ties(keys, beside)
    return np.asarray(values.reshape(confidence.shape).mean(axis=1), np.float64)


def aurra_interval(measure: Measure) -> tuple[float, float]:
    """95 % confidence interval of AURRA, also where few predictions are wrong."""
    return accuracy_area_interval(measure.image_values, measure.groups)


def aurra(run: ScoredRun, seen: Observed) -> list[Measure]:
    """AURRA of every condition, and pooled over the corruptions."""
    formula = (
        "area under the response rate accuracy curve: accuracy among the most confident images, averaged "
        "over all shares answered"
    )
    return confident_measures(run, seen, "aurra", formula, aurra_values, aurra_interval)
