"""Scores: a number with its interval, its n, its formula in words, and the conditions it is made of."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import unknown_name
from windtunnel.core.metric_names import (
    ACROSS_PARTS,
    LIST_METRICS,
    MEASURES,
    NEED_NO_LABEL,
    NORMALISED,
    NORMALISED_SEQUENCES,
    OF_DETECTION,
    metric_named,
)
from windtunnel.core.scores import NO_FACETS, Score
from windtunnel.metrics.facets import facets_by_condition
from windtunnel.metrics.not_finite import score_detail
from windtunnel.stats.bootstrap import replicated_means
from windtunnel.stats.measure import Measure

if TYPE_CHECKING:
    from windtunnel.metrics.prediction_matrix import Observed
    from windtunnel.metrics.scored_run import ScoredRun


def measure_run(run: ScoredRun, metrics: Sequence[str] | None = None) -> list[Measure]:
    """Every score a run's suite asks for, before it is a number; without labels those that need none.

    Weights ask for the weighted error, a baseline for what is divided by it. Images of one group stay
    together in every interval.
    """
    seen = run.observed
    labelled = bool(len(seen.ids))
    asked = [
        *run.metrics,
        *(["weighted_error"] if run.weights else []),
        *(_divided_metrics(run) if run.baseline else []),
    ]
    every = dict.fromkeys(asked if metrics is None else map(metric_named, metrics))
    wanted = [one for one in every if labelled or one in NEED_NO_LABEL]
    facets = facets_by_condition(run)
    found = [
        replace(one, facets=facets.get(one.condition, NO_FACETS))
        for metric in wanted
        for one in _measured(metric, run, seen)
    ]
    # What is divided by a baseline rests on fewer images and has their groups already.
    return [one if one.groups is not None else one.in_groups(run.groups) for one in found]


def _measured(metric: str, run: ScoredRun, seen: Observed) -> list[Measure]:
    """A metric of a run; where its images are of several parts, of each part under the part's name."""
    measurer = _measurer(metric)
    if not run.parts or metric.partition(":")[0] in ACROSS_PARTS:
        return [_with_detail(one, run, seen) for one in measurer(run, seen)]
    found = []
    for part in run.parts:
        if part.labelled and len(part.rows):
            own = seen.over(part.rows)
            measures = [_with_detail(one, run, own) for one in measurer(run, own)]
            found += [replace(one, condition=part.name, rows=part.rows) for one in measures]
    return found


def _with_detail(measure: Measure, run: ScoredRun, seen: Observed) -> Measure:
    """The same score, saying how many of its predictions are not finite; detection scores do so already."""
    if measure.metric in OF_DETECTION:
        return measure
    lost = score_detail(run, seen.answered, measure.metric, measure.parts)
    return replace(measure, detail="; ".join(filter(None, (measure.detail, lost)))) if lost else measure


def _divided_metrics(run: ScoredRun) -> tuple[str, ...]:
    """What a baseline divides: the scores of corruptions, or of sequences."""
    sequences = any(condition.kind == "sequence" for condition in run.conditions)
    return NORMALISED_SEQUENCES if sequences else NORMALISED


def score_run(run: ScoredRun, metrics: Sequence[str] | None = None) -> list[Score]:
    """Every score a run's suite asks for, or other ones."""
    measures = measure_run(run, metrics)
    together = _bootstrapped([one for one in measures if one.combine is not None and one.interval_of is None])
    return [measure.score(run.digest, together.get(id(measure))) for measure in measures]


def _bootstrapped(measures: Sequence[Measure]) -> dict[int, tuple[float, float]]:
    """Bootstrap intervals of many measures from the same draws, since drawing is what takes time."""
    found: dict[int, tuple[float, float]] = {}
    for key in {_drawn_as(measure) for measure in measures}:
        alike = [measure for measure in measures if _drawn_as(measure) == key]
        widths = np.cumsum([measure.columns.shape[1] for measure in alike])[:-1]
        drawn: list[list[NDArray[np.float64]]] = [[] for _ in alike]
        columns = np.hstack([measure.columns for measure in alike])
        for means in replicated_means(columns, groups=alike[0].groups):
            for place, part in enumerate(np.split(means, widths, axis=1)):
                drawn[place].append(part)
        for measure, replicates in zip(alike, drawn, strict=True):
            found[id(measure)] = measure.within_limits(measure.ends_of(np.concatenate(replicates)))
    return found


def _drawn_as(measure: Measure) -> tuple[int, bytes]:
    """What two measures must share to be bootstrapped together: as many images, in the same groups."""
    return len(measure.columns), b"" if measure.groups is None else measure.groups.tobytes()


def _measurer(metric: str) -> Callable[[ScoredRun, Observed], list[Measure]]:
    """What measures a metric; `auroc:energy` is a detection metric of one out-of-distribution score."""
    name, _, score = metric.partition(":")
    if name not in MEASURES or (score and name not in OF_DETECTION):
        raise unknown_name("metric", metric, MEASURES, LIST_METRICS)
    found = _function(name)
    return partial(found, only=score) if score else found


def _function(name: str) -> Callable[..., list[Measure]]:
    module, _, function = MEASURES[name].partition(":")
    found: Callable[..., list[Measure]] = getattr(importlib.import_module(module), function)
    return found


def about_metric(name: str) -> str:
    """What a metric is, in one sentence: what its function says of itself, and the formula it is given."""
    found = _function(name)
    made = found if isinstance(found, partial) else None
    said = (made.func if made else found).__doc__ or ""
    words = [str(getattr(one, "words", one)) for one in made.args] if made else []
    sentence = said.splitlines()[0].rstrip(".")
    return f"{sentence}: {words[-1]}." if words else f"{sentence}."
