"""What scores of confidence share: which predictions they take, and what equal confidences mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.metrics.error import corruption_columns, top_k_wrong
from windtunnel.metrics.observed import Observed
from windtunnel.metrics.score import Measure

if TYPE_CHECKING:
    from windtunnel.store.run import Run

Numbers = NDArray[np.float64]
Truths = NDArray[np.bool_]
# From confidences and truths (pictures, conditions) to one value per picture, whose mean is the score.
Values = Callable[[Numbers, Truths], Numbers]


def mean_over_ties(ordered: Numbers, values: Numbers) -> Numbers:
    """Values averaged where the sorted keys beside them are equal."""
    begins = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    group = np.cumsum(begins) - 1
    return np.asarray((np.bincount(group, values) / np.bincount(group))[group], np.float64)


def confident_measures(
    run: Run, seen: Observed, metric: str, formula: str, values: Values, limits: tuple[float, float] = (0, 1)
) -> list[Measure]:
    """A score of confidences under every condition, and pooled over the corruptions.

    None where the model gives no probabilities, or a single picture.
    """
    if not seen.gives_probabilities or len(seen.ids) < 2:
        return []
    right = ~top_k_wrong(seen.rank, 1)

    def measure(condition: str, what: str, columns: list[int]) -> Measure:
        def remake(rows: NDArray[np.int64]) -> Numbers:
            some = np.ix_(rows, np.array(columns))
            return values(seen.confidence[some], right[some])[:, None]

        parts = tuple(seen.conditions[column] for column in columns)
        whole = remake(np.arange(len(seen.ids)))
        return Measure(metric, condition, what, parts, whole, limits=limits, remake=remake)

    found = [measure(name, formula, [column]) for column, name in enumerate(seen.conditions)]
    columns = corruption_columns(run)
    if columns:
        found.append(measure("", f"{formula}; {len(columns)} corrupted conditions pooled", columns))
    return found
