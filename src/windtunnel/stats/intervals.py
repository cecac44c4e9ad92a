"""Intervals for shares and for means over pictures."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri, stdtrit

CONFIDENCE = 0.95


def wilson(successes: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson's score interval for a share.

    (p + z^2/2n -+ z*sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n), p = successes/n, z the normal quantile.
    """
    return _wilson(successes / n, n, float(ndtri((1 + confidence) / 2))) if n else (0.0, 1.0)


def _wilson(share: float, n: float, z: float) -> tuple[float, float]:
    centre = share + z * z / (2 * n)
    reach = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - reach) / scale), min(1.0, (centre + reach) / scale)


def clustered_share(
    values: NDArray[np.float64], per_cluster: int, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Wilson's interval for a mean of per-picture shares, at the number of pictures it is really worth.

    Each value is one picture's share of wrong conditions. n_eff = p(1-p) / (s^2/n) with s^2 the variance
    between pictures (n - 1), kept between n (conditions of a picture all alike) and n times the number
    of conditions (all independent); the normal quantile is replaced by Student's with n - 1 degrees.
    """
    n = len(values)
    share = float(values.mean())
    variance = float(values.var(ddof=1)) / n if n > 1 else 0.0
    worth = share * (1 - share) / variance if variance > 0 else float(n)
    worth = min(max(worth, float(n)), float(n * per_cluster))
    quantile = float(stdtrit(n - 1, (1 + confidence) / 2)) if n > 1 else float(ndtri((1 + confidence) / 2))
    return _wilson(share, worth, quantile)


def mean_interval(values: NDArray[np.float64], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Student's interval for a mean over two pictures or more: mean -+ t*sd/sqrt(n), n - 1 degrees."""
    n = len(values)
    mean = float(values.mean())
    reach = float(stdtrit(n - 1, (1 + confidence) / 2)) * float(values.std(ddof=1)) / math.sqrt(n)
    return mean - reach, mean + reach


def clopper_pearson(successes: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The exact interval for a share: it never covers less than it says, and often more.

    low = Beta(successes, n - successes + 1) at (1 - confidence)/2, high = Beta(successes + 1, n - successes)
    at (1 + confidence)/2; 0 where nothing succeeded, 1 where all did.
    """
    tail = (1 - confidence) / 2
    low = float(betaincinv(successes, n - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, n - successes, 1 - tail)) if successes < n else 1.0
    return low, high


def variance_of_mean(values: NDArray[np.float64], groups: NDArray[np.int64] | None = None) -> float:
    """Variance of a mean over pictures that were drawn one by one, or by whole groups.

    G/(G - 1) * sum_g (S_g - m_g*mean)^2 / n^2, with S_g the sum and m_g the size of a group; without groups
    every picture is its own. One group alone says nothing of its variance: 0.
    """
    sums, sizes = per_group(np.asarray(values, np.float64)[:, None], groups)
    count = len(sums)
    if count < 2:
        return 0.0
    away = sums[:, 0] - sizes * (sums[:, 0].sum() / sizes.sum())
    return float(count / (count - 1) * (away**2).sum() / sizes.sum() ** 2)


def per_group(
    columns: NDArray[np.float64], groups: NDArray[np.int64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums of the columns over each group, and how many pictures it has; no groups, one picture each."""
    values = np.asarray(columns, np.float64)
    if groups is None:
        return values, np.ones(len(values))
    _, number = np.unique(groups, return_inverse=True)
    sums = np.zeros((int(number.max()) + 1, values.shape[1]))
    np.add.at(sums, number, values)
    return sums, np.bincount(number).astype(np.float64)
