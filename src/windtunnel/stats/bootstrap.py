"""The bootstrap over pictures, for scores that are functions of means."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from windtunnel.stats.intervals import CONFIDENCE

REPLICATES = 2000
# Replicates are drawn in blocks of about this many numbers.
BLOCK = 4_000_000


def bootstrap_interval(
    columns: NDArray[np.float64],
    combine: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    *,
    groups: NDArray[np.int64] | None = None,
    seed: int = 0,
    replicates: int = REPLICATES,
    confidence: float = CONFIDENCE,
) -> tuple[float, float]:
    """Percentile interval of a function of column means, whole pictures (or groups of them) drawn anew."""
    values = np.concatenate(
        [
            combine(means)
            for means in replicated_means(columns, groups=groups, seed=seed, replicates=replicates)
        ]
    )
    low, high = np.quantile(values[np.isfinite(values)], [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def replicated_means(
    columns: NDArray[np.float64],
    *,
    groups: NDArray[np.int64] | None = None,
    seed: int = 0,
    replicates: int = REPLICATES,
) -> Iterator[NDArray[np.float64]]:
    """Means of the columns in bootstrap replicates, in blocks (replicates, columns).

    A replicate gives every picture (or group) the number of times it is drawn: means are one matrix
    product, whatever the score.
    """
    sums, sizes = _per_group(columns, groups)
    rng = np.random.default_rng(seed)
    block = max(1, BLOCK // len(sums))
    share = np.full(len(sums), 1 / len(sums))
    for start in range(0, replicates, block):
        drawn = rng.multinomial(len(sums), share, size=min(block, replicates - start)).astype(np.float64)
        yield (drawn @ sums) / (drawn @ sizes)[:, None]


def _per_group(
    columns: NDArray[np.float64], groups: NDArray[np.int64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    values = np.asarray(columns, np.float64)
    if groups is None:
        return values, np.ones(len(values))
    _, number = np.unique(groups, return_inverse=True)
    sums = np.zeros((int(number.max()) + 1, values.shape[1]))
    np.add.at(sums, number, values)
    return sums, np.bincount(number).astype(np.float64)
