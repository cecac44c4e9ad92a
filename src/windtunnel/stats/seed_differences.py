"""Differences between methods of training, each trained with several seeds, on the same test images.

The score of a training is the mean over images of its errors. Two sources of variance are added: another
seed would give another training, and other images another mean.

    variance = 2 * s2 / seeds + variance over images of the mean difference / images - r / (seeds * images)

s2 is the variance of a score between seeds, pooled over the methods because few seeds cannot tell that of
one. r is the residual mean square of the difference in the table of seeds and images, which the first two
terms both contain. The interval is Student's, with Satterthwaite's degrees of freedom.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtr, stdtrit

from windtunnel.stats.intervals import CONFIDENCE

# A method's own variance between seeds replaces the pooled one if an F-test at this level finds it larger. At
# 5 % the test overlooks most larger variances of three seeds: see `benchmarks/seed_coverage.py`.
LARGER_VARIANCE = 0.25

Errors = NDArray[np.float64]


@dataclass(frozen=True)
class SeedVariance:
    """The variance of one training's score between seeds.

    Attributes:
        value: s2.
        freedom: its degrees of freedom; 0 if it is unknown.
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
        freedom: degrees of freedom of the interval.
        own_variance: whether the variance between seeds is that of these two methods alone.
    """

    value: float
    low: float
    high: float
    p: float
    freedom: float
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
    value = float(new.mean() - old.mean())
    change = new - old
    of_images = _variance(change.mean(axis=0)) / images
    if not of_images:
        # Equal predictions do not prove that the two always agree.
        reach = max(float(np.ptp(new)), float(np.ptp(old)))
        of_images = (2 * reach / images) ** 2
    if not variance.freedom or seeds == 1:
        return _student(value, of_images, images - 1, confidence)
    chosen = _larger(new, old, variance)
    of_seeds = 2 * chosen.value / seeds
    shared = _residual(change) if variance.paired else _residual(new) + _residual(old)
    total = max(of_seeds + of_images - shared / (seeds * images), of_seeds, of_images)
    freedom = total**2 / (of_seeds**2 / chosen.freedom + of_images**2 / max(1, images - 1)) if total else 1.0
    found = _student(value, total, freedom, confidence)
    return SeedDifference(found.value, found.low, found.high, found.p, freedom, chosen is not variance)


def _larger(new: Errors, old: Errors, pooled: SeedVariance) -> SeedVariance:
    """The pooled variance, or that of two methods alone if it is larger by the F-test."""
    own = seed_variance(np.stack([new.mean(axis=1), old.mean(axis=1)]), paired=pooled.paired)
    if own.value <= pooled.value or own.freedom >= pooled.freedom:
        return pooled
    if pooled.value == 0 or fdtrc(own.freedom, pooled.freedom, own.value / pooled.value) < LARGER_VARIANCE:
        return own
    return pooled


def _student(value: float, variance: float, freedom: float, confidence: float) -> SeedDifference:
    error = math.sqrt(variance)
    reach = float(stdtrit(freedom, (1 + confidence) / 2)) * error if freedom > 0 else math.inf
    if value == 0 or error == 0:
        p = 1.0 if value == 0 else 0.0
    else:
        p = float(2 * stdtr(freedom, -abs(value) / error)) if freedom > 0 else 1.0
    return SeedDifference(value, value - reach, value + reach, p, freedom)


def _variance(values: NDArray[np.float64]) -> float:
    return float(values.var(ddof=1)) if len(values) > 1 else 0.0


def _residual(table: Errors) -> float:
    """The residual mean square of a two-way table."""
    seeds, images = table.shape
    if seeds < 2 or images < 2:
        return 0.0
    residuals = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    return float((residuals**2).sum() / ((seeds - 1) * (images - 1)))
