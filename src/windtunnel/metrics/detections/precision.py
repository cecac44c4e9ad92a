"""Average precision as measures of a run: of each condition, and of means over conditions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.detections import MOST_DETECTIONS
from windtunnel.core.metrics import NotMeasurable
from windtunnel.core.wording import counted
from windtunnel.metrics.detections.matches import THRESHOLDS, Matches
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure

WORDS = "average precision at 101 recall points, mean over categories"


def condition_precisions(
    run: ScoredRun, metric: str, overlaps: Sequence[float], *, localisation: bool = False
) -> list[Measure]:
    """Average precision of every condition, mean over some of the overlap thresholds.

    Raises:
        NotMeasurable: no image has an object.
    """
    if not run.detected.objects:
        raise NotMeasurable("no scored image has an annotated object", "give annotated images")
    at = [int(np.flatnonzero(np.isclose(THRESHOLDS, overlap))[0]) for overlap in overlaps]
    text = f"IoU {overlaps[0]:.2f}" if len(at) == 1 else f"IoU {overlaps[0]:.2f} to {overlaps[-1]:.2f}"
    words = WORDS if not localisation else "average precision at 101 recall points, whatever the categories"
    objects = counted(run.detected.objects, "object")
    measures = []
    for condition in run.detected.conditions:
        matches = run.detected.matches(condition, localisation=localisation)
        measures.append(
            Measure(
                metric,
                condition,
                f"{words}; {text}, at most {MOST_DETECTIONS} detections per image; {objects}",
                (condition,),
                matches.per_image,
                of_weights=partial(_mean_at, matches, at),
                limits=(0.0, 1.0),
            )
        )
    return measures


def mean_of(measures: Sequence[Measure], metric: str, formula: str) -> Measure:
    """The mean of the same score over several conditions."""
    parts = tuple(part for measure in measures for part in measure.parts)
    return Measure(
        metric,
        "",
        formula,
        parts,
        np.hstack([measure.columns for measure in measures]),
        of_weights=lambda weights: np.mean([_values(measure, weights) for measure in measures], axis=0),
        limits=(0.0, 1.0),
    )


def ratio_of(above: Measure, below: Measure, metric: str, formula: str) -> Measure:
    """The ratio of two scores of the same images."""

    def of_weights(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore"):
            return _values(above, weights) / _values(below, weights)

    return Measure(
        metric, "", formula, above.parts, above.columns, of_weights=of_weights, limits=(0.0, np.inf)
    )


def _mean_at(matches: Matches, at: Sequence[int], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(matches.precisions(weights)[:, list(at)].mean(axis=1), np.float64)


def _values(measure: Measure, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    if measure.of_weights is None:
        raise TypeError(f"{measure.metric} is no score by weights")
    return measure.of_weights(weights)
