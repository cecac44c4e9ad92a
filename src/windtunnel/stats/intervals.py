"""Intervals for shares and for means over pictures."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

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
