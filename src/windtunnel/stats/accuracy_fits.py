"""Lines fitted to the clean and shifted accuracies of many models, on logit or probit axes.

A model's effective robustness is its shifted accuracy minus the fitted one at its clean accuracy. Sets that
were filtered by a model bend the relation: accuracies below the filter's are pushed towards zero. The second
piece of a continuous piecewise-linear fit follows the bend.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr, ndtri

from windtunnel.stats.bootstrap import REPLICATES, replicated_means
from windtunnel.stats.intervals import CONFIDENCE, Groups
from windtunnel.stats.line_band import line_band

Axis = Literal["logit", "probit"]
Floats = NDArray[np.float64]

FEWEST = 3
# Models on each side of an estimated breakpoint, and the least share of models.
FEWEST_PER_PIECE = 4
SHARE_PER_PIECE = 0.01
# Breakpoints that are tried.
BREAKPOINTS = 100
# Fewer models are not resampled: many resamples would have two different ones, or one.
FEWEST_BOOTSTRAPPED = 10
# A determinant below this share of its largest possible value is rounding.
ROUNDING = 1e-12


def on_axis(shares: Floats | float, axis: Axis) -> Floats:
    """Positions of shares on an axis: ln(p / (1 - p)), or the normal quantile."""
    values = np.asarray(shares, np.float64)
    return np.asarray(logit(values) if axis == "logit" else ndtri(values), np.float64)


def from_axis(values: Floats | float, axis: Axis) -> Floats:
    """Shares at positions on an axis."""
    places = np.asarray(values, np.float64)
    return np.asarray(expit(places) if axis == "logit" else ndtr(places), np.float64)


@dataclass(frozen=True)
class Fit:
    """axis(shifted) = intercept + slope axis(clean) + bend max(0, axis(clean) - axis(breakpoint)).

    Attributes:
        slope: of the line, or of the piece below the breakpoint.
        correlation: Pearson's, of the two accuracies on the axis.
        n: number of models in the fit.
        left_out: models at 0 or 100 %, which have no place on the axis.
        axis: `logit` or `probit`.
        breakpoint: the clean accuracy at which the second piece begins; None for one line.
        bend: the change of slope there.
        error: root mean square of the residuals on the axis.
        at_search_limit: whether an estimated breakpoint is the lowest or highest that was tried, so that a
            better one may lie beyond.
    """

    slope: float
    intercept: float
    correlation: float
    n: int
    left_out: int
    axis: Axis = "logit"
    breakpoint: float | None = None
    bend: float = 0.0
    error: float = 0.0
    at_search_limit: bool = False

    def axis_value(self, places: Floats) -> Floats:
        """The fit on the axis, at positions of clean accuracies on it."""
        found = self.intercept + self.slope * places
        if self.breakpoint is not None:
            found = found + self.bend * np.maximum(0.0, places - on_axis(self.breakpoint, self.axis))
        return np.asarray(found, np.float64)

    def shifted_at(self, clean: float) -> float:
        """The shifted accuracy of the fit at a clean accuracy; the limit at 0 and 1."""
        if clean in (0, 1):
            slope = self.slope + (self.bend if clean == 1 else 0.0)
            if slope:
                return float((clean == 1) == (slope > 0))
        return float(from_axis(self.axis_value(on_axis(clean, self.axis)), self.axis))


@dataclass(frozen=True)
class Band:
    """Bootstrap replicates of a fit over models: coefficients and breakpoints.

    Attributes:
        coefficients: intercept, slope and bend, a row per replicate.
        knots: position of the breakpoint on the axis, a number per replicate.
        axis: the axis of the fit.
    """

    coefficients: Floats
    knots: Floats
    axis: Axis

    def shifted_at(self, clean: Floats) -> Floats:
        """Fitted shifted accuracies (replicates, clean accuracies)."""
        places = on_axis(clean, self.axis)[None]
        intercept, slope, bend = (self.coefficients[:, [column]] for column in range(3))
        found = intercept + slope * places + bend * np.maximum(0.0, places - self.knots[:, None])
        return from_axis(found, self.axis)

    def ends(self, clean: Floats, confidence: float = CONFIDENCE) -> tuple[Floats, Floats]:
        """The ends of the band at clean accuracies: percentiles of the replicates."""
        tail = (1 - confidence) / 2
        low, high = np.quantile(self.shifted_at(clean), (tail, 1 - tail), axis=0)
        return low, high


@dataclass(frozen=True)
class StudentBand:
    """The textbook's confidence band of a line through accuracies on an axis, for normal residuals.

    Attributes:
        x, y: clean and shifted accuracies on the axis.
        axis: the axis of the fit.
    """

    x: Floats
    y: Floats
    axis: Axis

    def ends(self, clean: Floats, confidence: float = CONFIDENCE) -> tuple[Floats, Floats]:
        """The ends of the band at clean accuracies."""
        _, _, *ends = line_band(self.x, self.y, confidence, on_axis(clean, self.axis))
        low, high = (from_axis(np.array(end), self.axis) for end in ends)
        return low, high


def fit_accuracies(
    clean: Sequence[float] | Floats,
    shifted: Sequence[float] | Floats,
    *,
    axis: Axis = "logit",
    pieces: int = 1,
    breakpoint: float | None = None,
) -> Fit | None:
    """The least-squares fit to accuracies on an axis; None if fewer models than coefficients can vary.

    Args:
        clean, shifted: accuracies of every model.
        axis: `logit` or `probit`.
        pieces: 1 for a line, 2 for two continuous pieces.
        breakpoint: the clean accuracy at which the second piece begins; None to choose the one with the least
            squared residuals. The search leaves `models_per_piece` models or more on each side. It has 100
            even steps on the axis, then 100 between the neighbours of the best.
    """
    x, y, kept = usable(clean, shifted, axis)
    if len(x) < FEWEST or not x.std() or not y.std():
        return None
    correlation = float(np.corrcoef(x, y)[0, 1])
    knots = _knots(x, pieces, breakpoint, axis)
    if knots is None:
        return None
    coefficients, squares, places = _solved(_moment_columns(x, y, knots).mean(axis=0)[None], knots)
    place, last = int(places[0]), len(knots) - 1
    if last:
        knots = np.linspace(knots[max(0, place - 1)], knots[min(last, place + 1)], BREAKPOINTS)
        coefficients, squares, places = _solved(_moment_columns(x, y, knots).mean(axis=0)[None], knots)
    intercept, slope, bend = map(float, coefficients[0])
    found = float(from_axis(float(knots[places[0]]), axis)) if pieces == 2 else None
    if breakpoint is not None and pieces == 2:
        found = breakpoint
    return Fit(
        slope,
        intercept,
        correlation,
        len(x),
        len(kept) - int(kept.sum()),
        axis,
        found,
        bend,
        math.sqrt(max(0.0, float(squares[0]))),
        bool(last) and place in (0, last) and int(places[0]) == (BREAKPOINTS - 1 if place else 0),
    )


def models_per_piece(models: int) -> int:
    """The least number of models on each side of an estimated breakpoint: 1 % of them, at least 4."""
    return max(FEWEST_PER_PIECE, math.ceil(SHARE_PER_PIECE * models))


def fit_band(
    clean: Floats,
    shifted: Floats,
    *,
    axis: Axis = "logit",
    pieces: int = 1,
    breakpoint: float | None = None,
    groups: Groups = None,
    seed: int = 0,
    replicates: int = REPLICATES,
) -> Band:
    """Bootstrap replicates of `fit_accuracies`, over models or groups of models; breakpoints vary too."""
    x, y, kept = usable(clean, shifted, axis)
    knots = _knots(x, pieces, breakpoint, axis)
    if knots is None:
        raise ValueError("the accuracies have no fit")
    own = None if groups is None else groups[kept]
    solved = [
        _solved(means, knots)
        for means in replicated_means(
            _moment_columns(x, y, knots), groups=own, seed=seed, replicates=replicates
        )
    ]
    coefficients = np.concatenate([part[0] for part in solved])
    places = np.concatenate([part[2] for part in solved])
    fitted = np.isfinite(coefficients).all(axis=1)
    return Band(coefficients[fitted], knots[places][fitted], axis)


def student_band(clean: Floats, shifted: Floats, *, axis: Axis = "logit") -> StudentBand:
    """The band of a line over few models, whose resamples often have no more than two different ones."""
    x, y, _ = usable(clean, shifted, axis)
    return StudentBand(x, y, axis)


def usable(
    clean: Sequence[float] | Floats, shifted: Sequence[float] | Floats, axis: Axis
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """The accuracies on the axis of models strictly between 0 and 1, and which models these are."""
    x, y = np.asarray(clean, np.float64), np.asarray(shifted, np.float64)
    kept = (x > 0) & (x < 1) & (y > 0) & (y < 1)
    return on_axis(x[kept], axis), on_axis(y[kept], axis), kept


def _knots(x: Floats, pieces: int, breakpoint: float | None, axis: Axis) -> Floats | None:
    """Positions of breakpoints to try, infinite for one line; None if none is possible."""
    if pieces == 1:
        return np.array([np.inf])
    ordered = np.sort(x)
    per_piece = models_per_piece(len(x))
    if breakpoint is not None:
        knot = float(on_axis(breakpoint, axis))
        return np.array([knot]) if ordered[1] < knot < ordered[-2] else None
    if len(x) < 2 * per_piece + 1:
        return None
    low, high = ordered[per_piece - 1], ordered[-per_piece]
    return np.linspace(low, high, BREAKPOINTS) if high > low else None


def _moment_columns(x: Floats, y: Floats, knots: Floats) -> Floats:
    """Columns whose means are the moments of 1, x, y and of max(0, x - knot) for every knot."""
    above = np.where(
        np.isinf(knots), 0.0, np.maximum(0.0, x[:, None] - np.where(np.isinf(knots), 0.0, knots))
    )
    line = [x, y, x * x, x * y, y * y]
    return np.hstack([np.stack(line, axis=1), above, above * x[:, None], above * above, above * y[:, None]])


def _solved(means: Floats, knots: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Coefficients of the best knot, mean squared residual, and its place, for each row of moments."""
    count, rows = len(knots), len(means)
    mean_x, mean_y, xx, xy, yy = (means[:, [column]] for column in range(5))
    h, hx, hh, hy = np.split(means[:, 5:], 4, axis=1)
    design = np.empty((rows, count, 2, 2))
    design[..., 0, 0] = xx - mean_x**2
    design[..., 0, 1] = design[..., 1, 0] = hx - h * mean_x
    design[..., 1, 1] = hh - h * h
    right = np.stack([np.broadcast_to(xy - mean_x * mean_y, h.shape), hy - h * mean_y], axis=-1)
    single = np.isinf(knots)
    design[:, single, 1, 1] = 1.0  # the second piece of a line is empty
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = design[..., 0, 0] * design[..., 1, 1] - design[..., 0, 1] ** 2
        slope = (right[..., 0] * design[..., 1, 1] - right[..., 1] * design[..., 0, 1]) / determinant
        bend = (right[..., 1] * design[..., 0, 0] - right[..., 0] * design[..., 0, 1]) / determinant
        squares = yy - mean_y**2 - slope * right[..., 0] - bend * right[..., 1]
    # Replicates of one model, or of too few on one side of the knot, have no fit.
    largest = xx * np.where(single, 1.0, hh)
    is_fit = np.isfinite(squares) & (determinant > ROUNDING * largest)
    squares = np.where(is_fit, squares, np.inf)
    slope, bend = (np.where(is_fit, values, np.nan) for values in (slope, bend))
    place = np.argmin(squares, axis=1)
    row = np.arange(rows)
    slope, bend, above = slope[row, place], bend[row, place], h[row, place]
    intercept = mean_y[:, 0] - slope * mean_x[:, 0] - bend * above
    return np.stack([intercept, slope, bend], axis=1), squares[row, place], place
