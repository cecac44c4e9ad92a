"""Differences between methods of training, each trained with several seeds, on the same test images.

The score of a training is the mean over images of its errors. Two sources of variance are added: another
seed would give another training, and other images another mean.

    of seeds  = 2 * s2 / seeds
    of images = variance over images of the mean difference / images
    interval  = difference -+ sqrt(t_f^2 * of seeds + t_n^2 * (of images - r / (seeds * images)))

s2 is the variance of a score between seeds, pooled over the methods because few seeds cannot tell that of
one. r is the residual mean square of the difference in the table of seeds and images, which both variances
contain. t_f and t_n are Student's quantiles at the degrees of freedom of s2, and at images - 1. Each variance
has a quantile of its own (Banerjee 1960), so that the interval covers at least its confidence however
uncertain s2 is. Satterthwaite's degrees of freedom do not: if s2 of few seeds is small by chance, they are
many. The p-value is 1 - the largest confidence at which the interval excludes 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtrit

from windtunnel.stats.intervals import CONFIDENCE

# A method's own variance between seeds replaces the pooled one if an F-test at this level finds it larger. At
# 5 % the test overlooks most larger variances of three seeds: see `benchmarks/seed_coverage.py`.
LARGER_VARIANCE = 0.25
# Degrees of freedom that are added to those of an own variance, because the other methods also say something
# about it. With its one or two alone, differences of any size would be unclear after Holm's procedure.
ADDED_FREEDOM = 4
# Halvings of the range of a p-value.
BISECTIONS = 60

Errors = NDArray[np.float64]


@dataclass(frozen=True)
class SeedVariance:
    """The variance of one training's score between seeds.

    Attributes:
        value: s2.
        freedom: degrees of freedom of the quantile that belongs to it; 0 if it is unknown.
        paired: whether trainings of one number share initial weights and order, so that what they have in
            common is not part of it.
    """

    value: float
    freedom: int
    paired: bool


@dataclass(frozen=True)
class SeedDifference:
    """The difference of two methods of training.

    Attributes:
        value: new - old, a fraction.
        low, high: its confidence interval.
        p: two-sided p-value of no difference.
        own_variance: whether the variance between seeds is that of these two methods alone.
    """

    value: float
    low: float
    high: float
    p: float
    own_variance: bool = False


def seed_variance(scores: NDArray[np.float64], *, paired: bool) -> SeedVariance:
    """The variance between seeds of scores (methods, seeds), pooled over methods.

    Paired: the residual mean square of the two-way table, so that an effect that a seed has on all methods
    does not count. Unpaired: the mean variance of the rows.
    """
    methods, seeds = scores.shape
    residuals = scores - scores.mean(axis=1, keepdims=True)
    if paired:
        residuals = residuals - residuals.mean(axis=0, keepdims=True)
    freedom = (methods - 1 if paired else methods) * (seeds - 1)
    return SeedVariance(float((residuals**2).sum()) / freedom if freedom else 0.0, freedom, paired)


def seed_difference(
    new: Errors, old: Errors, variance: SeedVariance, confidence: float = CONFIDENCE
) -> SeedDifference:
    """The difference of two methods from their errors (seeds, images).

    The interval is for new seeds and new images; with one seed, for new images and the same two trainings.
    """
    seeds, images = new.shape
    change = new - old
    of_images = _variance(change.mean(axis=0)) / images
    if not of_images:
        # Equal predictions do not prove that the two always agree, nor do models that are always right.
        reach = max(float(np.ptp(new)), float(np.ptp(old))) or 1.0
        of_images = (2 * reach / images) ** 2
    parts = [_Part(of_images, images - 1)]
    chosen = variance
    if variance.freedom and seeds > 1:
        chosen = _larger(new, old, variance)
        shared = _residual(change) if variance.paired else _residual(new) + _residual(old)
        parts = [
            _Part(2 * chosen.value / seeds, chosen.freedom),
            _Part(max(0.0, of_images - shared / (seeds * images)), images - 1),
        ]
    floor = _Part(of_images, images - 1)
    value = float(new.mean() - old.mean())
    reach = _reach(parts, floor, 1 - confidence)
    return SeedDifference(
        value, value - reach, value + reach, _p_value(value, parts, floor), chosen is not variance
    )


@dataclass(frozen=True)
class _Part:
    """A part of a difference's variance, and its degrees of freedom."""

    variance: float
    freedom: int

    def squared_reach(self, level: float) -> float:
        """The square of Student's reach at a two-sided level; infinite without degrees of freedom."""
        if not self.variance:
            return 0.0
        return float(stdtrit(self.freedom, level / 2)) ** 2 * self.variance if self.freedom else math.inf


def _reach(parts: Sequence[_Part], floor: _Part, level: float) -> float:
    """Half of the width of the interval at a level, never less than that of the images alone."""
    return math.sqrt(max(sum(part.squared_reach(level) for part in parts), floor.squared_reach(level)))


def _p_value(value: float, parts: Sequence[_Part], floor: _Part) -> float:
    """The level at which the interval ends at 0."""
    if value == 0:
        return 1.0
    low, high = 0.0, 1.0  # the reach falls from infinity to 0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if _reach(parts, floor, middle) < abs(value) else (middle, high)
    return high


def _larger(new: Errors, old: Errors, pooled: SeedVariance) -> SeedVariance:
    """The pooled variance, or that of two methods alone if it is larger by the F-test.

    The latter has `ADDED_FREEDOM` more degrees of freedom, but not more than the pooled one.
    """
    own = seed_variance(np.stack([new.mean(axis=1), old.mean(axis=1)]), paired=pooled.paired)
    if own.value <= pooled.value or own.freedom >= pooled.freedom:
        return pooled
    if pooled.value and fdtrc(own.freedom, pooled.freedom, own.value / pooled.value) >= LARGER_VARIANCE:
        return pooled
    return replace(own, freedom=min(own.freedom + ADDED_FREEDOM, pooled.freedom))


def _variance(values: NDArray[np.float64]) -> float:
    return float(values.var(ddof=1)) if len(values) > 1 else 0.0


def _residual(table: Errors) -> float:
    """The residual mean square of a two-way table."""
    seeds, images = table.shape
    if seeds < 2 or images < 2:
        return 0.0
    residuals = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    return float((residuals**2).sum() / ((seeds - 1) * (images - 1)))
