"""Measures: per-image values, and how their means become a score and its confidence interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.scores import NO_FACETS, Facets, Score
from windtunnel.stats.bootstrap import (
    bootstrap_interval,
    interval_of_replicates,
    replicated_means,
    replicated_weights,
)
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
    pass


Combine = Callable[[NDArray[np.float64]], NDArray[np.float64]]


# From columns, bootstrap replicates of their means (replicates, columns) and groups to an interval.
Ends = Callable[[NDArray[Any], NDArray[np.float64], Groups], tuple[float, float]]


# From weights of images (replicates, images) to values of a score (replicates).
OfWeights = Callable[[NDArray[np.float64]], NDArray[np.float64]]


# From rows of images to the columns of a score over these images alone.
Remake = Callable[[NDArray[np.int64]], NDArray[np.float64]]


@dataclass(frozen=True)
class Measure:
    """A score before it is a number: what is averaged over images, and what is made of the averages.

    The value is `combine(means)`, or `means @ weights`, of the columns' means over images. One definition
    serves the value, its interval, and its paired difference between two models.

    Attributes:
        metric, condition, formula, parts: as in the score.
        columns: images x columns, numbers or booleans.
        weights: weight of each column, for scores that are linear in the means.
        combine: for all others: from means (..., columns) to values (...).
        of_weights: for scores that are no function of means, such as average precision: from image weights
            (replicates, images) to values (replicates). The columns only tell which images differ.
        limits: limits of the score and of its interval.
        groups: group number of each image; None without groups.
        remake: for columns that depend on all images together: computes them for a subset.
        ends: for scores that sampling noise biases upwards: computes the interval without that bias.
        rows: which of the run's scored images the columns are for, ascending; None for all of them.
        interval_of: computes the interval, if the kind of columns does not determine it.
        sides: images x sides, the sides that each image is on; the smallest side limits the precision of
            the score. None for one side of all images.
        detail: further details of this run, such as counts; dropped for subsets of images.
        facets: corruption, severity and codec of its condition.

    A score that is no function of means (a calibration error) is stored as pseudo-values: one column whose
    mean is the score, with the score plus the image's influence for each image. `remake` computes them for
    other images.
    """

    metric: str
    condition: str
    formula: str
    parts: tuple[str, ...]
    columns: NDArray[Any]
    weights: NDArray[np.float64] | None = None
    combine: Combine | None = None
    of_weights: OfWeights | None = None
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
        """Number of images, or of groups, of the score."""
        return unit_count(len(self.columns), self.groups)

    @property
    def deciding_units(self) -> int:
        """Number of images, or of groups, on the smallest side."""
        if self.sides is None:
            return self.units
        groups = np.arange(len(self.columns)) if self.groups is None else self.groups
        return min(unit_count(int(side.sum()), groups[side]) for side in self.sides.T)

    def over(self, rows: NDArray[np.int64]) -> Measure:
        """The same measure over a subset of the run's scored images, in this order."""
        if self.rows is None:
            return self._over(rows)
        place = np.full(max(int(rows.max(initial=-1)), int(self.rows.max(initial=-1))) + 1, -1, np.int64)
        place[self.rows] = np.arange(len(self.rows))
        inside = np.flatnonzero(place[rows] >= 0)
        return replace(self._over(place[rows[inside]]), rows=inside)

    def in_groups(self, groups: Groups) -> Measure:
        """The same measure with these groups of all scored images; groups of one image each count as none."""
        own = groups if groups is None or self.rows is None else groups[self.rows]
        return replace(self, groups=None if own is None or unit_count(len(own), own) == len(own) else own)

    def _over(self, rows: NDArray[np.int64]) -> Measure:
        """The same measure over some rows of its own columns."""
        groups = None if self.groups is None else self.groups[rows]
        sides = None if self.sides is None else self.sides[rows]
        remake, of_weights = self.remake, self.of_weights
        if of_weights is not None:
            images = len(self.columns)
            if np.array_equal(rows, np.arange(images)):
                return replace(self, groups=groups, sides=sides, detail="")
            return replace(
                self,
                columns=self.columns[rows],
                groups=groups,
                sides=sides,
                of_weights=lambda weights: of_weights(_spread(weights, rows, images)),
                detail="",
            )
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
        """The value of the score."""
        if self.of_weights is not None:
            return float(self.of_weights(np.ones((1, len(self.columns))))[0])
        means = self.columns.mean(axis=0, dtype=np.float64)
        return float(self.of_means(means))

    def of_means(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of the score from means (..., columns)."""
        if self.combine is not None:
            return self.combine(means)
        return np.asarray(means @ self.linear_weights, np.float64)

    @property
    def linear_weights(self) -> NDArray[np.float64]:
        """The weights; without weights the score is the mean of its one column."""
        return np.ones(self.columns.shape[1]) if self.weights is None else self.weights

    @cached_property
    def image_values(self) -> NDArray[np.float64]:
        """Per-image values of a linear score: their mean is its value."""
        return np.asarray(self.columns @ self.linear_weights, np.float64)

    def interval(self) -> tuple[float, float]:
        """95 % interval, the image (or its group) being the unit: see `docs/explanation/statistics.md`."""
        return self.within_limits(self._interval())

    def within_limits(self, ends: tuple[float, float]) -> tuple[float, float]:
        """An interval clipped to the limits."""
        low, high = (min(max(end, self.limits[0]), self.limits[1]) for end in ends)
        return low, high

    def _interval(self) -> tuple[float, float]:
        if self.ends is not None:
            return self.ends_of(np.concatenate(list(replicated_means(self.columns, groups=self.groups))))
        if self.interval_of is not None:
            return self.interval_of(self)
        if self.of_weights is not None:
            return interval_of_replicates(self.value, self.weighted_replicates, self.units)
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
        # Errors minus other errors of the same images: the change of an image, between -1 and 1.
        per_image = max(int((weights > 0).sum()), int((weights < 0).sum()))
        change = shares_of_change(self.image_values / whole, per_image, self.groups)
        tail = (1 - CONFIDENCE) / 2
        return change.end(tail) * whole, change.end(1 - tail) * whole

    @cached_property
    def weighted_replicates(self) -> NDArray[np.float64]:
        """Bootstrap replicates of a score by weights; two scores of the same images have the same draws."""
        if self.of_weights is None:
            raise TypeError(f"{self.metric} is no score by weights")
        return self.of_weights(replicated_weights(len(self.columns), groups=self.groups))

    def ends_of(self, replicates: NDArray[np.float64]) -> tuple[float, float]:
        """The interval of a bootstrapped score by replicates of its columns' means."""
        if self.ends is None:
            return interval_of_replicates(self.value, self.of_means(replicates), self.units)
        return self.ends(self.columns, replicates, self.groups)

    def _interval_of_mean(self) -> tuple[float, float]:
        """Student's interval; the limits for a single image."""
        return mean_interval(self.image_values, groups=self.groups) if self.units > 1 else self.limits

    def score(self, recipe: str, interval: tuple[float, float] | None = None) -> Score:
        """The score with its metadata; `interval` is used if it is known already."""
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


def _spread(weights: NDArray[np.float64], rows: NDArray[np.int64], images: int) -> NDArray[np.float64]:
    """Weights of some images as weights of all; the others have none."""
    every = np.zeros((len(weights), images))
    np.add.at(every.T, rows, weights.T)
    return every


def exact_interval(measure: Measure) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share of images, or of groups of them."""
    return exact_share(measure.image_values, measure.groups)


def log_odds_interval(measure: Measure) -> tuple[float, float]:
    """Student's interval of a linear score between 0 and 1, on a log-odds scale."""
    return mean_between_0_and_1(measure.image_values, measure.groups, measure.deciding_units)


def bounded_interval(measure: Measure, per_image: int) -> tuple[float, float]:
    """Wilson's interval of a linear score between 0 and its upper limit, of several predictions per image.

    Values are treated as shares of that limit, at the effective sample size: without any change, images that
    were not sampled may still change. For a single image it is the limits. An image all of whose predictions
    change is assumed to change by the mean size of the changes.
    """
    most = measure.limits[1]
    if measure.units < 2 or not most:
        return measure.limits
    changed = measure.columns[measure.columns > 0]
    failing = float(changed.mean() * measure.linear_weights.sum() / most) if len(changed) else 1.0
    low, high = clustered_share(
        measure.image_values / most, per_image, groups=measure.groups, failing=failing
    )
    return low * most, high * most
