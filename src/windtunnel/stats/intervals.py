"""Confidence intervals of shares and of means over images."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, expit, ndtri, stdtrit

CONFIDENCE = 0.95
# Relative differences up to this are rounding errors.
ROUNDING = 1e-12
# Weight, against K^2 in `effective_size`, of the assumption that an image's conditions fail together: chosen
# by simulation.
PRIOR = 2.0
# Mean square of ln(n/p) over the places p = 1..n, for large n.
AREA_WEIGHT = 2.0

# The group number of each image, or None without groups.
Groups = NDArray[np.int64] | None


def wilson(successes: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson's score interval for a share.

    (p + z^2/2n -+ z*sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n), p = successes/n, z the normal quantile.
    """
    return _wilson(successes / n, n, float(ndtri((1 + confidence) / 2))) if n else (0.0, 1.0)


def _wilson(share: float, n: float, z: float) -> tuple[float, float]:
    centre = share + z * z / (2 * n)
    reach = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # The share is always inside; rounding would otherwise exclude a share of 0 or 1.
    return max(0.0, min(share, (centre - reach) / scale)), min(1.0, max(share, (centre + reach) / scale))


def clustered_share(
    values: NDArray[np.float64],
    per_cluster: int,
    confidence: float = CONFIDENCE,
    groups: Groups = None,
    failing: float = 1.0,
) -> tuple[float, float]:
    """Wilson's interval for a mean of per-image shares, at its effective sample size.

    Each value is one image's share of wrong conditions. The sample size is `effective_size` of p(1-p).
    Student's quantile replaces the normal one, with one degree of freedom less than images (or groups).
    `failing` is the mean value of an image all of whose conditions fail; 1 for correct and wrong.
    """
    share = float(values.mean())
    units = unit_count(len(values), groups)
    quantile = stdtrit(units - 1, (1 + confidence) / 2) if units > 1 else ndtri((1 + confidence) / 2)
    effective = effective_size(values, share * (1 - share), per_cluster, groups, failing)
    return _wilson(share, effective, float(quantile))


def effective_size(
    values: NDArray[np.float64], spread: float, per_image: int, groups: Groups = None, failing: float = 1.0
) -> float:
    """The effective sample size: the number of independent predictions of variance `spread` whose mean has
    the same variance.

    `values` are one share per image, between -1 and 1. The result is spread / variance of the mean, at most
    the number of predictions. Without groups it is at least n, the size for images whose conditions all fail
    together. With groups there is no lower bound, since large groups may be the hard ones. Without any
    variation it is n, or n^2 / sum m_g^2 for groups of m_g images that all fail together.

    Few failing images carry little information on how often their conditions fail together. The estimate is
    therefore averaged with that size: 1/size = (K^2 variance/spread + 2 failing/n) / (K^2 + 2). K =
    (sum d^2)^2 / sum d^4 is the number of images (or groups) that the variance depends on, d being their
    deviations from the mean; `failing` is the value of an image all of whose conditions fail.
    """
    n = len(values)
    size = _averaged_size(values, spread, groups, failing)
    return min(max(size, float(n) if groups is None else 1.0), float(n * per_image))


def _averaged_size(values: NDArray[np.float64], spread: float, groups: Groups, failing: float) -> float:
    """`effective_size` without its limits."""
    n = len(values)
    away, sizes = _deviations(values, groups, 1.0)
    correlated = n * n / float((sizes**2).sum())  # if all images of a group fail together
    variance = _variance(away, n)
    if variance == 0 or spread <= ROUNDING:
        return correlated
    certain, share = _support(away) ** 2, variance / spread
    return 1 / max(share, (certain * share + PRIOR * failing / correlated) / (certain + PRIOR))


def mean_interval(
    values: NDArray[np.float64], confidence: float = CONFIDENCE, groups: Groups = None
) -> tuple[float, float]:
    """Student's interval for a mean over at least two images (or groups): mean -+ t*sqrt(its variance).

    It has one degree of freedom less than images or groups.
    """
    quantile = float(stdtrit(unit_count(len(values), groups) - 1, (1 + confidence) / 2))
    mean, reach = float(values.mean()), quantile * math.sqrt(variance_of_mean(values, groups))
    return mean - reach, mean + reach


def mean_of_predictions_interval(
    values: NDArray[np.float64], right: NDArray[np.float64], groups: Groups = None
) -> tuple[float, float]:
    """Student's interval for a mean that varies because some predictions are correct and others wrong.

    `right` is each image's share of correct predictions. If few images (or groups) differ in it, images that
    were not sampled may have other predictions: up to 3/n of all may be of a kind that n images do not show.
    The variance is therefore averaged with the larger of itself and (2 / n)^2. The weights are K^2 and 2,
    with K the number of images that the variance of `right` depends on (`effective_size`).
    """
    away, sizes = _deviations(right, groups, 1.0)
    certain, n = _support(away) ** 2, len(values)
    observed = variance_of_mean(values, groups)
    least = (2 * float((sizes**2).sum()) / (n * n)) ** 2
    variance = (certain * observed + PRIOR * max(observed, least)) / (certain + PRIOR)
    reach = float(stdtrit(len(sizes) - 1, (1 + CONFIDENCE) / 2)) * math.sqrt(variance)
    return float(values.mean()) - reach, float(values.mean()) + reach


def clopper_pearson(successes: float, n: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The exact (Clopper-Pearson) interval for a share: its coverage is at least `confidence`.

    low = Beta(successes, n - successes + 1) at (1 - confidence)/2, high = Beta(successes + 1, n - successes)
    at (1 + confidence)/2; low is 0 without successes, high is 1 without failures.
    """
    tail = (1 - confidence) / 2
    low = float(betaincinv(successes, n - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, n - successes, 1 - tail)) if successes < n else 1.0
    return low, high


def exact_share(values: NDArray[np.float64], groups: Groups = None) -> tuple[float, float]:
    """Clopper and Pearson's interval for a share of images, at its effective sample size.

    For groups of images (anchors of one video) the sample size is `effective_size` of p(1-p), times the
    square of the normal quantile over Student's (Korn and Graubard).
    """
    n, share = float(len(values)), float(values.mean())
    if groups is not None:
        units, middle = unit_count(len(values), groups), (1 + CONFIDENCE) / 2
        narrower = ndtri(middle) / stdtrit(units - 1, middle) if units > 1 else 1.0
        n = effective_size(values, share * (1 - share), 1, groups) * float(narrower) ** 2
    return clopper_pearson(share * n, n)


def mean_between_0_and_1(
    values: NDArray[np.float64], groups: Groups = None, deciding: int | None = None
) -> tuple[float, float]:
    """Student's interval for a mean between 0 and 1, on a log-odds scale.

    logit(mean) -+ t*sqrt(its variance) / (mean (1 - mean)). At 0 and 1, and without variation, it is the
    exact interval of a share of `deciding` images (or groups), by default of all.
    """
    mean, units = float(values.mean()), unit_count(len(values), groups)
    error = math.sqrt(variance_of_mean(values, groups))
    if error == 0 or units < 2 or not 1e-12 < mean < 1 - 1e-12:
        n = units if deciding is None else deciding
        return clopper_pearson(min(max(mean, 0.0), 1.0) * n, n)
    centre = math.log(mean / (1 - mean))
    reach = float(stdtrit(units - 1, (1 + CONFIDENCE) / 2)) * error / (mean * (1 - mean))
    return float(expit(centre - reach)), float(expit(centre + reach))


def accuracy_area_interval(values: NDArray[np.float64], groups: Groups = None) -> tuple[float, float]:
    """Wilson's interval for an area under an accuracy curve, given the area plus each image's influence.

    The sample size is the effective one: area (1 - area) / variance of the mean. A wrong prediction at place
    p of n by confidence lowers the area by about ln(n/p) / n. If few images are wrong, others may be more
    confident: 1/size is averaged, as in `effective_size`, with AREA_WEIGHT / n, its value for errors that are
    independent of confidence. Student's quantile replaces the normal one. Without variation it is the exact
    interval of a share of as many images or groups.
    """
    area, units = float(values.mean()), unit_count(len(values), groups)
    if units < 2 or variance_of_mean(values, groups) == 0:
        return clopper_pearson(min(max(area, 0.0), 1.0) * units, units)
    effective = _averaged_size(values, area * (1 - area), groups, AREA_WEIGHT)
    return _wilson(area, effective, float(stdtrit(units - 1, (1 + CONFIDENCE) / 2)))


def unit_count(images: int, groups: Groups) -> int:
    """The number of independent units: images, or groups of images."""
    return images if groups is None else len(np.unique(groups))


def variance_of_mean(values: NDArray[np.float64], groups: Groups = None, scale: float | None = None) -> float:
    """Variance of a mean over images that were drawn one by one, or by whole groups.

    G/(G - 1) * sum_g (S_g - m_g*mean)^2 / n^2, with S_g the sum and m_g the size of a group; without groups
    every image is its own. For a single group the variance is unknown: 0. Deviations that rounding alone
    explains are 0; `scale` is the size of the numbers that the values were computed from, by default that of
    the largest value.
    """
    away, _ = _deviations(values, groups, scale)
    return _variance(away, len(values))


def _deviations(
    values: NDArray[np.float64], groups: Groups, scale: float | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Deviation of every image's (or group's) sum from its size times the mean, and the sizes."""
    values = np.asarray(values, np.float64)
    sums, sizes = per_group(values[:, None], groups)
    away = sums[:, 0] - sizes * (sums[:, 0].sum() / sizes.sum())
    size = float(np.abs(values).max(initial=0.0)) if scale is None else scale
    return np.where(np.abs(away) <= ROUNDING * size * sizes, 0.0, away), sizes


def _support(away: NDArray[np.float64]) -> float:
    """Number of images (or groups) that a variance depends on: (sum d^2)^2 / sum d^4, 0 without any."""
    fourth = float((away**4).sum())
    return float((away**2).sum()) ** 2 / fourth if fourth > 0 else 0.0


def _variance(away: NDArray[np.float64], n: int) -> float:
    count = len(away)
    return float(count / (count - 1) * (away**2).sum() / n**2) if count > 1 else 0.0


def per_group(
    columns: NDArray[np.float64], groups: Groups
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums of the columns over each group, and its number of images; without groups, images are groups."""
    values = np.asarray(columns, np.float64)
    if groups is None:
        return values, np.ones(len(values))
    order = np.argsort(groups, kind="stable")
    _, starts, sizes = np.unique(groups[order], return_index=True, return_counts=True)
    return np.add.reduceat(values[order], starts, axis=0), sizes.astype(np.float64)
