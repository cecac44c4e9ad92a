"""Scores: a value with its interval, number of images, formula in words, and conditions."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError, first_line, unknown_name
from windtunnel.core.metrics import (
    REGISTRY,
    Metric,
    Missing,
    NotMeasurable,
    accompanying,
    metric_named,
    metric_of,
    needing,
)
from windtunnel.core.option_names import option
from windtunnel.core.scores import NO_FACETS, Score
from windtunnel.metrics.facets import facets_by_condition
from windtunnel.metrics.not_finite import score_detail
from windtunnel.stats.bootstrap import replicated_means
from windtunnel.stats.measure import Measure

if TYPE_CHECKING:
    from windtunnel.metrics.complete_images import CompleteImages
    from windtunnel.metrics.scored_run import ScoredRun


def measure_run(run: ScoredRun, metrics: Sequence[str] | None = None) -> list[Measure]:
    """The measures of all metrics of a run's suite; without labels, those that need none.

    Weights add the weighted error, a baseline adds the metrics normalised by it. All intervals are clustered
    by group.
    """
    seen = run.predicted
    labelled = bool(len(seen.ids))
    asked = [
        *run.metrics,
        *accompanying(run.metrics),
        *(needing("weights") if run.weights else []),
        *(_divided_metrics(run) if run.baseline else []),
    ]
    if metrics is None:
        _check_known(run)
    every = dict.fromkeys(asked if metrics is None else map(metric_named, metrics))
    wanted = [measure for measure in every if labelled or not _metric(measure).needs_labels]
    facets = facets_by_condition(run)
    found = [
        replace(measure, facets=facets.get(measure.condition, NO_FACETS))
        for metric in wanted
        for measure in _measured(metric, run, seen)
    ]
    # Measures normalised by a baseline have fewer images and already have their groups.
    return [measure if measure.groups is not None else measure.in_groups(run.groups) for measure in found]


def _check_known(run: ScoredRun) -> None:
    """Refuse a run whose suite has a user-defined metric that is not registered."""
    for name in run.metrics:
        if name not in REGISTRY.names():
            raise UserError(
                f"{run.path} is scored by the metric '{name}', which is not registered; give the file that "
                f"declares it with {option('include', ['FILE.py'])}."
            )


def _measured(asked: str, run: ScoredRun, seen: CompleteImages) -> list[Measure]:
    """A metric of a run, or of each part of a natural set under the part's name."""
    if not run.parts or _metric(asked).across_parts:
        return [_with_detail(measure, run, seen) for measure in measured_by(asked, run, seen)]
    measures_of_parts = []
    for part in run.parts:
        if part.labelled and len(part.rows):
            own = run.observed.over(part.rows)
            measures = [_with_detail(measure, run, own) for measure in measured_by(asked, run, own)]
            measures_of_parts += [
                replace(measure, condition=part.name, rows=part.rows) for measure in measures
            ]
    return measures_of_parts


def _with_detail(measure: Measure, run: ScoredRun, seen: CompleteImages) -> Measure:
    """The measure with a note on predictions that are not finite; OOD metrics have their own note."""
    metric = metric_of(measure.metric)
    if metric and metric.of_ood_scores:
        return measure
    lost = score_detail(run, seen.with_unlabelled, measure.metric, measure.parts)
    return replace(measure, detail="; ".join(filter(None, (measure.detail, lost)))) if lost else measure


def _divided_metrics(run: ScoredRun) -> list[str]:
    """Metrics that a baseline normalises: those of corruptions, or of sequences."""
    return needing("sequences" if run.sequences else "corruptions", needing("normaliser"))


def score_run(run: ScoredRun, metrics: Sequence[str] | None = None) -> list[Score]:
    """The scores of a run: all metrics of its suite, or the metrics given."""
    measures = measure_run(run, metrics)
    together = _bootstrapped(
        [measure for measure in measures if measure.combine is not None and measure.interval_of is None]
    )
    return [measure.score(run.digest, together.get(id(measure))) for measure in measures]


def _bootstrapped(measures: Sequence[Measure]) -> dict[int, tuple[float, float]]:
    """Bootstrap intervals of many measures from the same draws, because drawing is slow."""
    intervals: dict[int, tuple[float, float]] = {}
    for key in {_drawn_as(measure) for measure in measures}:
        drawn_together = [measure for measure in measures if _drawn_as(measure) == key]
        widths = np.cumsum([measure.columns.shape[1] for measure in drawn_together])[:-1]
        drawn: list[list[NDArray[np.float64]]] = [[] for _ in drawn_together]
        columns = np.hstack([measure.columns for measure in drawn_together])
        for means in replicated_means(columns, groups=drawn_together[0].groups):
            for place, part in enumerate(np.split(means, widths, axis=1)):
                drawn[place].append(part)
        for measure, replicates in zip(drawn_together, drawn, strict=True):
            intervals[id(measure)] = measure.within_limits(measure.ends_of(np.concatenate(replicates)))
    return intervals


def _drawn_as(measure: Measure) -> tuple[int, bytes]:
    """The key of measures that are bootstrapped together: the same number of images and the same groups."""
    return len(measure.columns), b"" if measure.groups is None else measure.groups.tobytes()


def _metric(asked: str) -> Metric:
    """The metric of a name; `auroc:energy` is an OOD metric of one OOD score."""
    name, _, score = asked.partition(":")
    if name not in REGISTRY.names() or (score and not REGISTRY.get(name).of_ood_scores):
        raise unknown_name("metric", asked, REGISTRY.names(), REGISTRY.command)
    return REGISTRY.get(name)


def measured_by(asked: str, run: ScoredRun, seen: CompleteImages) -> list[Measure]:
    """The measures of a metric; none if the run lacks what its function asks for."""
    try:
        return _returned_measures(asked, run, seen)
    except NotMeasurable:
        return []


def why_not_measurable(asked: str, run: ScoredRun) -> Missing | None:
    """What a metric's function asks for and a run lacks; None if the function returns."""
    try:
        _returned_measures(asked, run, run.predicted)
    except NotMeasurable as error:
        return error.missing
    return None


def _returned_measures(asked: str, run: ScoredRun, seen: CompleteImages) -> list[Measure]:
    """The measures that a metric's function returns, checked if the metric is user-defined."""
    metric, score = _metric(asked), asked.partition(":")[2]
    if metric.task != run.recipe.task:
        raise NotMeasurable(
            f"it is a score of {metric.task}, and the model of this run is one of {run.recipe.task}",
            f"choose a metric of {run.recipe.task}",
        )
    given = {"only": score} if score else {}
    if metric.is_shipped:
        return list(metric.function(run, seen, **given))
    file = Path(inspect.getfile(metric.function)).name
    try:
        measures = metric.function(run, seen, **given)
    except (UserError, NotMeasurable):
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {first_line(error)}"
        raise UserError(f"Metric '{metric.name}' ({file}) failed: {why}. Correct its function.") from error
    if wrong := _why_not_measures(measures, metric):
        raise UserError(f"Metric '{metric.name}' ({file}) {wrong}; see CONTRIBUTING.md, A metric.")
    return list(measures)


def _why_not_measures(returned: object, metric: Metric) -> str:
    """What is wrong with the result of a metric's function, or ""."""
    if not isinstance(returned, list | tuple) or not all(
        isinstance(measure, Measure) for measure in returned
    ):
        return f"returned {type(returned).__name__}, not a list of Measure"
    for measure in returned:
        if measure.metric != metric.name and not measure.metric.endswith(tuple(metric.derived)):
            return f"returned a Measure of '{measure.metric}'; its first value is the metric's name"
        if measure.columns.ndim != 2:
            return f"returned columns of shape {measure.columns.shape}; give images x columns"
    return ""
