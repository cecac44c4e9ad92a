"""The bootstrap over images, for scores that are functions of means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from windtunnel.stats.intervals import CONFIDENCE, Groups, per_group, unit_count

Combine = Callable[[NDArray[np.float64]], NDArray[np.float64]]

REPLICATES = 2000
# Of scores that are computed anew for every replicate.
WEIGHTED_REPLICATES = 200
# Replicates are drawn in blocks of about this many numbers.
BLOCK = 4_000_000


def bootstrap_interval(
    columns: NDArray[np.float64],
    combine: Combine,
    *,
    groups: Groups = None,
    seed: int = 0,
    replicates: int = REPLICATES,
    confidence: float = CONFIDENCE,
) -> tuple[float, float]:
    """Bootstrap interval of a function of column means; images (or groups of images) are resampled."""
    value = float(combine(columns.mean(axis=0, dtype=np.float64)))
    values = replicated_values(columns, combine, groups=groups, seed=seed, replicates=replicates)
    return interval_of_replicates(value, values, unit_count(len(columns), groups), confidence)


def interval_of_replicates(
    value: float, replicates: NDArray[np.float64], units: int, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """The interval of a score from its bootstrap replicates, given its number of images (or groups).

    value -+ t*sd, with sd that of the replicates and t Student's quantile at units - 1 degrees of freedom; on
    a log scale if the value and all replicates are positive. `benchmarks/interval_coverage.py` simulates it:
    percentile, BCa and studentised intervals of ratios covered too little for errors near 0 or 1 on few
    images.
    """
    values = replicates[np.isfinite(replicates)]
    if units < 2 or not len(values) or not np.isfinite(value):
        return value, value
    positive = value > 0 and bool((values > 0).all())
    centre, spread = (np.log(value), np.log(values)) if positive else (np.float64(value), values)
    reach = float(stdtrit(units - 1, (1 + confidence) / 2)) * float(spread.std())
    low, high = centre - reach, centre + reach
    return (float(np.exp(low)), float(np.exp(high))) if positive else (float(low), float(high))


def replicated_values(
    columns: NDArray[np.float64],
    combine: Combine,
    *,
    groups: Groups = None,
    seed: int = 0,
    replicates: int = REPLICATES,
) -> NDArray[np.float64]:
    """The result of `combine` for the columns' means in every replicate; `combine` reduces the last axis."""
    drawn = replicated_means(columns, groups=groups, seed=seed, replicates=replicates)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.concatenate([combine(means) for means in drawn])


def replicated_means(
    columns: NDArray[np.float64],
    *,
    groups: Groups = None,
    seed: int = 0,
    replicates: int = REPLICATES,
) -> Iterator[NDArray[np.float64]]:
    """Means of the columns in bootstrap replicates, in blocks (replicates, columns).

    A replicate is the number of times that each image (or group) is drawn: the means of all replicates are
    one matrix product.
    """
    sums, sizes = per_group(columns, groups)
    draws = _all_draws if len(sums) * replicates <= BLOCK else _draws
    for drawn in draws(len(sums), seed, replicates):
        yield (drawn @ sums) / (drawn @ sizes)[:, None]


def replicated_weights(
    images: int, *, groups: Groups = None, seed: int = 0, replicates: int = WEIGHTED_REPLICATES
) -> NDArray[np.float64]:
    """The number of times that each image is drawn in bootstrap replicates (replicates, images).

    The images of a group are drawn together.
    """
    return _weights(images, None if groups is None else groups.astype(np.int64).tobytes(), seed, replicates)


@lru_cache(maxsize=2)
def _weights(images: int, groups: bytes | None, seed: int, replicates: int) -> NDArray[np.float64]:
    """The same, cached: scores of the same images share one array, and what they compute with it."""
    number = np.arange(images) if groups is None else np.frombuffer(groups, np.int64)
    units = int(number.max(initial=-1)) + 1
    drawn = np.concatenate(list(_draws(max(units, 1), seed, replicates)))
    return drawn if groups is None else np.ascontiguousarray(drawn[:, number])


def _draws(count: int, seed: int, replicates: int) -> Iterator[NDArray[np.float64]]:
    """Number of times that each of `count` images is drawn, in blocks (replicates, images).

    Every replicate is `count` integers of PCG64(seed), counted: the same seed draws the same images.
    """
    rng = np.random.default_rng(seed)
    block = max(1, BLOCK // count)
    for start in range(0, replicates, block):
        times = np.empty((min(block, replicates - start), count))
        for row in times:
            row[:] = np.bincount(rng.integers(0, count, count), minlength=count)
        yield times


@lru_cache(maxsize=1)
def _all_draws(count: int, seed: int, replicates: int) -> list[NDArray[np.float64]]:
    """The same, cached for the next score over as many images, because drawing is the slowest part."""
    return list(_draws(count, seed, replicates))
