"""Code that all confidence metrics share: selection of predictions, and ties in confidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.metrics.error import corruption_columns
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.stats.measure import Measure

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

Numbers = NDArray[np.float64]
Truths = NDArray[np.bool_]
# From confidences and truths (images, conditions) to one value per image, whose mean is the score.
Values = Callable[[Numbers, Truths], Numbers]
IntervalOf = Callable[[Measure], tuple[float, float]]


def mean_over_ties(ordered: Numbers, values: Numbers) -> Numbers:
    """Values averaged over runs of equal sorted keys."""
    begins = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    group = np.cumsum(begins) - 1
    return np.asarray((np.bincount(group, values) / np.bincount(group))[group], np.float64)


def confident_measure(
    metric: str,
    condition: str,
    formula: str,
    parts: tuple[str, ...],
    confidence: Numbers,
    right: Truths,
    values: Values,
    interval_of: IntervalOf,
) -> Measure:
    """A confidence metric from 0 to 1 over predictions (images x conditions pooled).

    The second column is each image's share of right predictions: it has no weight in the score, only in its
    interval.
    """

    def remake(rows: NDArray[np.int64]) -> Numbers:
        return np.stack([values(confidence[rows], right[rows]), right[rows].mean(axis=1)], axis=1)

    return Measure(
        metric,
        condition,
        formula,
        parts,
        remake(np.arange(len(right))),
        np.array([1.0, 0.0]),
        limits=(0, 1),
        remake=remake,
        interval_of=interval_of,
    )


def confident_measures(
    run: ScoredRun, seen: Observed, metric: str, formula: str, values: Values, interval_of: IntervalOf
) -> list[Measure]:
    """A confidence metric of every condition, and pooled over the corruptions.

    Empty if the model gives no probabilities or there is only one image.
    """
    if not seen.gives_probabilities or len(seen.ids) < 2:
        return []
    right = seen.correct

    def measure(condition: str, what: str, columns: list[int]) -> Measure:
        parts = tuple(seen.conditions[column] for column in columns)
        confidence = seen.confidence[:, columns]
        return confident_measure(
            metric, condition, what, parts, confidence, right[:, columns], values, interval_of
        )

    measures = [measure(name, formula, [column]) for column, name in enumerate(seen.conditions)]
    columns = corruption_columns(run)
    if columns:
        measures.append(measure("", f"{formula}; {len(columns)} corrupted conditions pooled", columns))
    return measures
