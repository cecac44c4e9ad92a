"""Area under the response rate accuracy curve: how well does confidence rank predictions by correctness?

At a response rate of k/n only the k most confident predictions count. AURRA is the mean accuracy over all
response rates.

AURRA = mean over k = 1..n of (correct predictions among the k most confident) / k
"""

from __future__ import annotations

import numpy as np

from windtunnel.metrics.confidence import Numbers, Truths, mean_over_ties
from windtunnel.stats.intervals import accuracy_area_interval
from windtunnel.stats.measure import Measure


def aurra_values(confidence: Numbers, right: Truths) -> Numbers:
    """AURRA as one value per image (images x conditions pooled): AURRA plus the image's influence.

    With a_k the accuracy of the k most confident, a prediction r at place p has the influence
    a_p - AURRA + sum over k >= p of (r - a_k)/k; influences sum to zero. Ties in confidence are averaged over
    all their orders.
    """
    flat = -confidence.ravel()
    order = np.argsort(flat)  # the order of ties does not matter
    keys, truths = flat[order], right.ravel()[order].astype(np.float64)
    places = np.arange(1, len(keys) + 1)
    accuracy = np.cumsum(mean_over_ties(keys, truths)) / places
    later = np.cumsum((1 / places)[::-1])[::-1]
    offset = accuracy - np.cumsum((accuracy / places)[::-1])[::-1]
    values = np.empty(len(keys))
    values[order] = truths * mean_over_ties(keys, later) + mean_over_ties(keys, offset)
    return np.asarray(values.reshape(confidence.shape).mean(axis=1), np.float64)


def aurra_interval(measure: Measure) -> tuple[float, float]:
    """95 % confidence interval of AURRA, also where few predictions are wrong."""
    return accuracy_area_interval(measure.image_values, measure.groups)
