"""Accuracy drop of a natural shift: accuracy on clean images minus accuracy on shifted images.

drop = error(shifted) - error(clean), over two samples of different images of the same classes
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.metrics.parts import Part, part_of_role
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.stats.intervals import clustered_share, unit_count, wilson
from windtunnel.stats.measure import Measure

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

Rows = NDArray[np.int64]


def of_shared_classes(shifted: Part, clean: Part, seen: Observed) -> tuple[Rows, Rows]:
    """Rows of the shifted and of the clean images whose class occurs in both parts."""
    of_shifted, of_clean = (
        {label for row in part.rows for label in seen.labels[row]} for part in (shifted, clean)
    )
    shared = of_shifted & of_clean
    shifted_rows, clean_rows = (
        np.array([row for row in part.rows if shared & set(seen.labels[row])], np.int64)
        for part in (shifted, clean)
    )
    return shifted_rows, clean_rows


def drop_notes(run: ScoredRun) -> list[str]:
    """A sentence that states why a run with shifted and clean images has no accuracy drop."""
    shifted, clean = part_of_role(run, "shifted"), part_of_role(run, "clean")
    if shifted is None or clean is None or "accuracy_drop" not in run.metrics:
        return []
    shifted_rows, _ = of_shared_classes(shifted, clean, run.observed)
    if len(shifted_rows):
        return []
    return ["No accuracy drop: no class has both clean and shifted images."]


def difference_of_shares(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """a/b - c/d of the means a, b, c, d: the difference of two shares of different images."""
    first, of_first, second, of_second = np.moveaxis(means, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(first / of_first - second / of_second, np.float64)


def square_and_add(measure: Measure) -> tuple[float, float]:
    """Newcombe's interval for the difference of two shares of different images.

    d - sqrt((p - p_low)^2 + (q_high - q)^2), d + sqrt((p_high - p)^2 + (q - q_low)^2). The intervals of p and
    q are Wilson's, clustered by group where images have groups. A group with images on both sides counts as
    two groups: where its images are correlated, the interval is too wide.
    """
    p, low, high = _share(measure, 0)
    q, other_low, other_high = _share(measure, 2)
    return p - q - math.hypot(p - low, other_high - q), p - q + math.hypot(high - p, q - other_low)


def _share(measure: Measure, column: int) -> tuple[float, float, float]:
    """The share of wrong images in one part with its interval; the next column marks the part's images."""
    inside = measure.columns[:, column + 1].astype(bool)
    wrong = measure.columns[inside, column].astype(np.float64)
    groups = None if measure.groups is None else measure.groups[inside]
    if groups is None or unit_count(len(wrong), groups) == len(wrong):
        return float(wrong.mean()), *wilson(int(wrong.sum()), len(wrong))
    return float(wrong.mean()), *clustered_share(wrong, 1, groups=groups)
