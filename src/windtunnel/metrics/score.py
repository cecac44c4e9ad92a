"""Scores: a number with its interval, its n, its formula in words, and the conditions it is made of."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.metrics.names import MEASURES
from windtunnel.stats.bootstrap import bootstrap_interval
from windtunnel.stats.intervals import clustered_share, mean_interval, wilson

if TYPE_CHECKING:
    from windtunnel.metrics.observed import Observed
    from windtunnel.store.run import Run


@dataclass(frozen=True)
class Score:
    """One number and what it means.

    Attributes:
        metric: its name.
        condition: under which condition, or "" for a score over several.
        value: a fraction.
        low, high: 95 % interval.
        n: pictures it rests on.
        formula: in words.
        parts: the conditions it is made of.
        recipe: digest of the run's recipe.
    """

    metric: str
    condition: str
    value: float
    low: float
    high: float
    n: int
    formula: str
    parts: tuple[str, ...] = field(default=())
    recipe: str = ""

    def to_json(self) -> dict[str, object]:
        """The score as JSON keeps it."""
        return asdict(self) | {"parts": list(self.parts)}


Combine = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True)
class Measure:
    """A score before it is a number: what is averaged over pictures, and what is made of the averages.

    The value is `combine(means)`, or `means @ weights`, of the columns' means over pictures. One definition
    serves the value, its interval, and its paired difference between two models.

    Attributes:
        metric, condition, formula, parts: as of the score.
        columns: pictures x columns, numbers or truth values.
        weights: of each column, for scores that are linear in the means.
        combine: for all others: from means (..., columns) to values (...).
    """

    metric: str
    condition: str
    formula: str
    parts: tuple[str, ...]
    columns: NDArray[Any]
    weights: NDArray[np.float64] | None = None
    combine: Combine | None = None

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
    def picture_values(self) -> NDArray[np.float64]:
        """Of a linear score, what each picture adds: their mean is the value."""
        return np.asarray(self.columns @ self.linear_weights, np.float64)

    def interval(self) -> tuple[float, float]:
        """95 % interval, the picture being the unit: see `docs/statistics.md`."""
        if self.combine is not None:
            return bootstrap_interval(self.columns, self.combine)
        if self.columns.shape[1] == 1 and self.columns.dtype == np.bool_ and self.weights is None:
            return wilson(int(self.columns.sum()), len(self.columns))
        if self.columns.dtype == np.bool_ and (self.linear_weights >= 0).all():
            whole = float(self.linear_weights.sum())
            low, high = clustered_share(self.picture_values / whole, self.columns.shape[1])
            return low * whole, high * whole
        return mean_interval(self.picture_values)

    def score(self, recipe: str) -> Score:
        """The number, with everything that belongs to it."""
        return Score(
            self.metric,
            self.condition,
            self.value,
            *self.interval(),
            len(self.columns),
            self.formula,
            self.parts,
            recipe,
        )


def measure_run(run: Run) -> list[Measure]:
    """Every score a run's suite asks for, before it is a number; none where no picture has a label."""
    seen = run.observed
    if not len(seen.ids):
        return []
    return [one for metric in run.recipe["suite"]["metrics"] for one in _measurer(metric)(run, seen)]


def score_run(run: Run) -> list[Score]:
    """Every score a run's suite asks for."""
    return [measure.score(run.digest) for measure in measure_run(run)]


def _measurer(metric: str) -> Callable[[Run, Observed], list[Measure]]:
    module, _, function = MEASURES[metric].partition(":")
    found: Callable[[Run, Observed], list[Measure]] = getattr(importlib.import_module(module), function)
    return found
