"""Several tests at once: Holm's procedure, which bounds the chance of even one false alarm.

The p-values are sorted; the j-th of m (from 0) is compared with level/(m - j) until the first that is larger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

# An effect is called significant if its p-value, adjusted for the number of tests, is at most this.
SIGNIFICANT = 0.05


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: rejecting all that are at most 0.05 has a family-wise error rate of 5 %.

    In ascending order the j-th of m (from 0) becomes the largest so far of min(1, (m - j)*p).
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for index, remaining in _ascending(p_values):
        largest = max(largest, min(1.0, remaining * float(p_values[index])))
        adjusted[index] = largest
    return adjusted


def holm_levels(p_values: Sequence[float], level: float) -> list[float]:
    """The level at which Holm's procedure tests each p: level/(m - j) in ascending order.

    After the first p above its level nothing more is rejected: the rest have that level too.
    """
    levels = [level] * len(p_values)
    stopped = 0.0
    for index, remaining in _ascending(p_values):
        levels[index] = stopped or level / remaining
        if p_values[index] > levels[index]:
            stopped = levels[index]
    return levels


def _ascending(p_values: Sequence[float]) -> Iterator[tuple[int, int]]:
    """The indices of the p-values in ascending order, and how many are not tested yet: m - j."""
    for place, index in enumerate(np.argsort(np.asarray(p_values, np.float64), kind="stable")):
        yield int(index), len(p_values) - place
