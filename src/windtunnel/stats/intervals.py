"""Intervals for shares and for means over pictures."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

CONFIDENCE = 0.95


def wilson(successes: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson's score interval for a share.

    (p + z^2/2n -+ z*sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n), p = successes/n, z the normal quantile.
    """
    if n < 1:
        return 0.0, 1.0
    z = float(ndtri((1 + confidence) / 2))
    share = successes / n
    centre = share + z * z / (2 * n)
    reach = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - reach) / scale), min(1.0, (centre + reach) / scale)


def clustered_mean(values: NDArray[np.float64], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Normal interval for a mean of per-picture means: mean -+ z*sd/sqrt(n), sd with n - 1.

    Each value is already one picture's mean over its conditions, so that correlated conditions of one
    picture count once.
    """
    if len(values) < 2:
        return 0.0, 1.0
    z = float(ndtri((1 + confidence) / 2))
    mean = float(values.mean())
    reach = z * float(values.std(ddof=1)) / math.sqrt(len(values))
    return max(0.0, mean - reach), min(1.0, mean + reach)
