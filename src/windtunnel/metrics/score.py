"""Scores: a number with its interval, its n, its formula in words, and the conditions it is made of."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import unknown_name
from windtunnel.core.scores import Score
from windtunnel.metrics.facets import NO_FACETS, Facets, facets_by_condition
from windtunnel.metrics.names import (
    ACROSS_PARTS,
    LIST_METRICS,
    MEASURES,
    NEED_NO_LABEL,
    NORMALISED,
    NORMALISED_SEQUENCES,
    OF_DETECTION,
    metric_named,
)
from windtunnel.metrics.not_finite import score_detail
from windtunnel.stats.bootstrap import bootstrap_interval, interval_of_replicates, replicated_means
from windtunnel.stats.intervals import (
    CONFIDENCE,
    Groups,
    clustered_share,
    exact_share,
    mean_between_0_and_1,
    mean_interval,
    unit_count,
    wilson,
)
from windtunnel.stats.paired import shares_of_change

if TYPE_CHECKING:
    from windtunnel.metrics.prediction_matrix import Observed
    from windtunnel.store.run import Run


Combine = Callable[[NDArray[np.float64]], NDArray[np.float64]]
# From columns, bootstrap replicates of their means (replicates, columns) and groups to an interval.
Ends = Callable[[NDArray[Any], NDArray[np.float64], Groups], tuple[float, float]]
# From rows of images to the columns of a score over these images alone.
Remake = Callable[[NDArray[np.int64]], NDArray[np.float64]]


@dataclass(frozen=True)
class Measure:
    """A score before it is a number: what is averaged over images, and what is made of the averages.

    The value is `combine(means)`, or `means @ weights`, of the columns' means over images. One definition
    serves the value, its interval, and its paired difference between two models.

    Attributes:
        metric, condition, formula, parts: as of the score.
        columns: images x columns, numbers or truth values.
        weights: of each column, for scores that are linear in the means.
        combine: for all others: from means (..., columns) to values (...).
        limits: between which the score must lie, and so its interval.
        groups: which images were drawn together, a number each; None where every one stands for itself.
        remake: for columns that hang on all images together: what they are for some of them.
        ends: for scores that chance alone raises: the interval of what is left without it.
        rows: which of the run's scored images the columns are of, ascending; None for all of them.
        interval_of: how the interval is made, where what the columns are does not tell.
        sides: images x sides, which images are on a side that the score rests on: it is as sure as the
            smallest side is large; None for one side of all images.
        detail: what else to say of it that is this run's own, such as counts; other images have none.
        facets: corruption, severity and codec of its condition.

    A score that is no function of means (a calibration error) enters as pseudo-values: one column whose mean
    is the score, each image's being the score plus the image's influence on it. Over other images these
    are other values, which `remake` gives.
    """

    metric: str
    condition: str
    formula: str
    parts: tuple[str, ...]
    columns: NDArray[Any]
    weights: NDArray[np.float64] | None = None
    combine: Combine | None = None
    limits: tuple[float, float] = (-np.inf, np.inf)
    groups: Groups = None
    remake: Remake | None = None
    ends: Ends | None = None
    rows: NDArray[np.int64] | None = None
    interval_of: Callable[[Measure], tuple[float, float]] | None = None
    sides: NDArray[np.bool_] | None = None
    detail: str = ""
    facets: Facets = NO_FACETS

    @property
    def units(self) -> int:
        """How many images, or groups of them, the score rests on."""
        return unit_count(len(self.columns), self.groups)

    @property
    def deciding_units(self) -> int:
        """How many images, or groups of them, the smallest of its sides has."""
        if self.sides is None:
            return self.units
        groups = np.arange(len(self.columns)) if self.groups is None else self.groups
        return min(unit_count(int(side.sum()), groups[side]) for side in self.sides.T)

    def over(self, rows: NDArray[np.int64]) -> Measure:
        """The same score over some of the run's scored images, in this order."""
        if self.rows is None:
            return self._over(rows)
        place = np.full(max(int(rows.max(initial=-1)), int(self.rows.max(initial=-1))) + 1, -1, np.int64)
        place[self.rows] = np.arange(len(self.rows))
        inside = np.flatnonzero(place[rows] >= 0)
        return replace(self._over(place[rows[inside]]), rows=inside)

    def in_groups(self, groups: Groups) -> Measure:
        """The same score where all scored images have these groups; groups of one are none."""
        own = groups if groups is None or self.rows is None else groups[self.rows]
        return replace(self, groups=None if own is None or unit_count(len(own), own) == len(own) else own)

    def _over(self, rows: NDArray[np.int64]) -> Measure:
        """The same score over some rows of its own columns."""
        groups = None if self.groups is None else self.groups[rows]
        sides = None if self.sides is None else self.sides[rows]
        remake = self.remake
        if remake is None:
            return replace(self, columns=self.columns[rows], groups=groups, sides=sides, detail="")
        return replace(
            self,
            columns=remake(rows),
            groups=groups,
            sides=sides,
            remake=lambda some: remake(rows[some]),
            detail="",
        )

    @cached_property
    def value(self) -> float:
        """The score."""
        means = self.columns.mean(axis=0, dtype=np.float64)
        return float(self.of_means(means))

    def of_means(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values made of means (..., columns)."""
        if self.combine is not None:
            return self.combine(means)
        return np.asarray(means @ self.linear_weights, np.float64)

    @property
    def linear_weights(self) -> NDArray[np.float64]:
        """The weights; a score without any is the mean of its one column."""
        return np.ones(self.columns.shape[1]) if self.weights is None else self.weights

    @cached_property
    def image_values(self) -> NDArray[np.float64]:
        """Of a linear score, what each image adds: their mean is the value."""
        return np.asarray(self.columns @ self.linear_weights, np.float64)

    def interval(self) -> tuple[float, float]:
        """95 % interval, the image (or its group) being the unit: see `docs/statistics.md`."""
        return self.within_limits(self._interval())

    def within_limits(self, ends: tuple[float, float]) -> tuple[float, float]:
        """An interval with both of its ends inside the limits."""
        low, high = (min(max(end, self.limits[0]), self.limits[1]) for end in ends)
        return low, high

    def _interval(self) -> tuple[float, float]:
        if self.ends is not None:
            return self.ends_of(np.concatenate(list(replicated_means(self.columns, groups=self.groups))))
        if self.interval_of is not None:
            return self.interval_of(self)
        if self.combine is not None:
            return bootstrap_interval(self.columns, self.combine, groups=self.groups)
        if self.columns.dtype != np.bool_:
            return self._interval_of_mean()
        if self.columns.shape[1] == 1 and self.weights is None and self.groups is None:
            return wilson(int(self.columns.sum()), len(self.columns))
        weights = self.linear_weights
        if (weights >= 0).all():
            whole = float(weights.sum())
            values = self.image_values / whole
            low, high = clustered_share(values, self.columns.shape[1], groups=self.groups)
            return low * whole, high * whole
        whole = float(weights[weights > 0].sum())
        if not np.isclose(weights.sum(), 0, atol=1e-9 * whole):
            return self._interval_of_mean()
        # Errors less other errors of the same images: what changed in an image, between -1 and 1.
        answers = max(int((weights > 0).sum()), int((weights < 0).sum()))
        change = shares_of_change(self.image_values / whole, answers, self.groups)
        tail = (1 - CONFIDENCE) / 2
        return change.end(tail) * whole, change.end(1 - tail) * whole

    def ends_of(self, replicates: NDArray[np.float64]) -> tuple[float, float]:
        """The interval of a bootstrapped score by replicates of its columns' means."""
        if self.ends is None:
            return interval_of_replicates(self.value, self.of_means(replicates), self.units)
        return self.ends(self.columns, replicates, self.groups)

    def _interval_of_mean(self) -> tuple[float, float]:
        """Student's; one image says nothing of how far others would lie, only the limits do."""
        return mean_interval(self.image_values, groups=self.groups) if self.units > 1 else self.limits

    def score(self, recipe: str, interval: tuple[float, float] | None = None) -> Score:
        """The number, with everything that belongs to it; the interval where it is known already."""
        return Score(
            self.metric,
            self.condition,
            self.value,
            *(interval or self.interval()),
            len(self.columns),
            "; ".join(filter(None, (self.formula, self.detail))),
            self.parts,
            recipe,
            self.facets.corruption,
            self.facets.severity,
            self.facets.codec,
        )


def exact_interval(measure: Measure) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share of images, or of groups of them."""
    return exact_share(measure.image_values, measure.groups)


def log_odds_interval(measure: Measure) -> tuple[float, float]:
    """Student's interval of a linear score between 0 and 1, on the scale of its log odds."""
    return mean_between_0_and_1(measure.image_values, measure.groups, measure.deciding_units)


def bounded_interval(measure: Measure, answers: int) -> tuple[float, float]:
    """Wilson's of a linear score between 0 and its upper limit, of so many answers an image.

    As of shares of that limit, at the number of images they are worth: where nothing changes, some change
    may still be among the images not seen. Of one image nothing but the limits is known. An image that
    changes in all of its answers is taken to change by as much as answers do that change.
    """
    most = measure.limits[1]
    if measure.units < 2 or not most:
        return measure.limits
    changed = measure.columns[measure.columns > 0]
    failing = float(changed.mean() * measure.linear_weights.sum() / most) if len(changed) else 1.0
    low, high = clustered_share(measure.image_values / most, answers, groups=measure.groups, failing=failing)
    return low * most, high * most


def measure_run(run: Run, metrics: Sequence[str] | None = None) -> list[Measure]:
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


def _measured(metric: str, run: Run, seen: Observed) -> list[Measure]:
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


def _with_detail(measure: Measure, run: Run, seen: Observed) -> Measure:
    """The same score, saying how many of its predictions are not finite; detection scores do so already."""
    if measure.metric in OF_DETECTION:
        return measure
    lost = score_detail(run, seen.answered, measure.metric, measure.parts)
    return replace(measure, detail="; ".join(filter(None, (measure.detail, lost)))) if lost else measure


def _divided_metrics(run: Run) -> tuple[str, ...]:
    """What a baseline divides: the scores of corruptions, or of sequences."""
    sequences = any(condition["kind"] == "sequence" for condition in run.conditions)
    return NORMALISED_SEQUENCES if sequences else NORMALISED


def score_run(run: Run, metrics: Sequence[str] | None = None) -> list[Score]:
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


def _measurer(metric: str) -> Callable[[Run, Observed], list[Measure]]:
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
