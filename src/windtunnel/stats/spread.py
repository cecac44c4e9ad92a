"""Confidence intervals of the spread of several shares of the same images.

On few images sampling noise alone spreads the shares, so that their standard deviation and range are biased
upwards. These intervals are for the spread without that noise, as on infinitely many images. The noise is
estimated by the deviations of bootstrap replicates from the shares themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from windtunnel.stats.intervals import CONFIDENCE, Groups, effective_size, per_group, unit_count

Shares = NDArray[np.float64]
Columns = NDArray[Any]


def noise_variance(columns: Columns, groups: Groups = None) -> float:
    """The contribution of sampling noise to the sample variance of the columns' means.

    sum_j Var(mean of x_ij - row mean_i) / (m - 1), over m columns, by images or by whole groups of them.
    """
    values = np.asarray(columns, np.float64)
    sums, sizes = per_group(values - values.mean(axis=1, keepdims=True), groups)
    count, methods = len(sums), values.shape[1]
    if count < 2:
        return 0.0
    away = sums - sizes[:, None] * (sums.sum(axis=0) / sizes.sum())
    variances = count / (count - 1) * (away**2).sum(axis=0) / sizes.sum() ** 2
    return float(variances.sum() / (methods - 1))


def std_interval(columns: Columns, replicates: Shares, groups: Groups = None) -> tuple[float, float]:
    """95 % interval of the sample standard deviation S of the columns' means, without sampling noise.

    low = S - the 97.5 % quantile of the noise's S, or sqrt(S^2 - noise - t*sd(S^2 of the replicates)) where
    that is more. high = sqrt(S^2 - noise + l) + t*sqrt(l), l the noise
    in its strongest direction, since S is at least what it is along the true one. `high` is at least S, and
    at least what the flips could make that so many images do not exclude (`unseen`).

    Args:
        columns: images x methods, right or wrong.
        replicates: bootstrap replicates of the columns' means, (replicates, methods).
        groups: group numbers of the images, or None.
    """
    noise = _Noise(columns, replicates, groups)
    value = float(noise.shares.std(ddof=1))
    if noise.units < 2:
        return value, value
    degrees = len(noise.shares) - 1
    added = float((noise.around**2).sum(axis=1).mean()) / degrees
    strongest = max(0.0, float(np.linalg.eigvalsh(np.cov(noise.around.T))[-1]) / degrees)
    squared = value**2 - added - noise.quantile * float(replicates.var(axis=1, ddof=1).std())
    low = value - float(np.quantile(noise.around.std(axis=1, ddof=1), (1 + CONFIDENCE) / 2))
    high = np.sqrt(max(0.0, value**2 - added + strongest)) + noise.quantile * np.sqrt(strongest)
    # The spread is largest for a given range if half of the methods are at either end.
    unseen = noise.unseen * np.sqrt((degrees + 1) / degrees) / 2
    return float(max(0.0, low, np.sqrt(max(0.0, squared)))), float(max(high, value, unseen))


def range_interval(columns: Columns, replicates: Shares, groups: Groups = None) -> tuple[float, float]:
    """95 % interval of the range R of the columns' means, without sampling noise; arguments as above.

    low = R - the 97.5 % quantile of the noise's range; high = R + t*sd of the noisiest pair's difference,
    since R is at least the difference of the pair that is truly farthest apart.
    """
    noise = _Noise(columns, replicates, groups)
    value = float(np.ptp(noise.shares))
    if noise.units < 2:
        return value, value
    together = np.cov(noise.around.T)
    own = np.diag(together)
    pair = np.sqrt(max(0.0, float((own[:, None] + own[None] - 2 * together).max())))
    low = value - float(np.quantile(np.ptp(noise.around, axis=1), (1 + CONFIDENCE) / 2))
    return max(0.0, low), float(value + max(noise.quantile * pair, noise.unseen))


class _Noise:
    """Sampling noise of the means of several columns of the same images.

    Attributes:
        shares: the columns' means.
        units: number of images, or of groups.
        quantile: Student's quantile at units - 1 degrees of freedom.
        around: replicates minus the means, each minus its own mean: the noise between columns.
        unseen: the largest share of flips that this many images do not exclude if they show none.
    """

    def __init__(self, columns: Columns, replicates: Shares, groups: Groups) -> None:
        self.shares: Shares = columns.mean(axis=0, dtype=np.float64)
        self.units = unit_count(len(columns), groups)
        if self.units < 2:
            return
        self.quantile = float(stdtrit(self.units - 1, (1 + CONFIDENCE) / 2))
        away = (replicates - self.shares) * np.sqrt(self.units / (self.units - 1))
        self.around: Shares = away - away.mean(axis=1, keepdims=True)
        flipped = (columns != columns[:, :1]).any(axis=1).astype(np.float64)
        share = float(flipped.mean())
        # Wilson's upper limit of 0 at the effective sample size.
        self.unseen = self.quantile**2 / (
            effective_size(flipped, share * (1 - share), 1, groups) + self.quantile**2
        )
