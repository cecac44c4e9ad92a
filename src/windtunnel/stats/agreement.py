"""Agreement of people who judge the same items: per cent, Cohen's and Fleiss' kappa, Krippendorff's alpha.

Verdicts are nominal. Items may have different numbers of verdicts; those with fewer than two do not count.
Intervals of coefficients are value -+ t*sd of bootstrap replicates over items, or over groups of items that
belong together, within -1 and 1. Without any variation, and for a single item or group, they are not defined.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from windtunnel.stats.bootstrap import REPLICATES
from windtunnel.stats.intervals import CONFIDENCE, Groups, mean_between_0_and_1

# A smaller deviation of replicates is one of rounding.
ROUNDING = 1e-12
Floats = NDArray[np.float64]
# Verdicts of items, by person.
Ratings = Sequence[Mapping[Hashable, str]]


@dataclass(frozen=True)
class Agreement:
    """A measure of agreement with its 95 % interval; NaN where it is not defined.

    Attributes:
        value: at most 1.
        low, high: the interval.
        items: the number of items it is computed from.
    """

    value: float
    low: float
    high: float
    items: int


def count_table(ratings: Ratings) -> NDArray[np.int64]:
    """Items with at least two verdicts by categories: how many people chose each."""
    names = sorted({value for item in ratings for value in item.values()})
    places = {name: place for place, name in enumerate(names)}
    table = np.zeros((len(ratings), len(names)), np.int64)
    for row, item in enumerate(ratings):
        for value in item.values():
            table[row, places[value]] += 1
    rated: NDArray[np.int64] = table[table.sum(axis=1) >= 2]
    return rated


def percent_agreement(counts: NDArray[np.int64], groups: Groups = None) -> Agreement:
    """The share of pairs of verdicts on the same item that agree, averaged over items; 0 to 1."""
    if not len(counts):
        return Agreement(np.nan, np.nan, np.nan, 0)
    shares = _agreeing(counts.astype(np.float64))
    return Agreement(float(shares.mean()), *mean_between_0_and_1(shares, groups), len(counts))


def fleiss_kappa(counts: NDArray[np.int64], groups: Groups = None) -> Agreement:
    """Fleiss' kappa: (P - Pe) / (1 - Pe).

    P is the mean agreement of items, Pe the sum of squared shares of the categories. Items with more verdicts
    have more weight in the shares.
    """

    def kappa(weights: Floats, rows: Floats) -> Floats:
        observed = weights @ _agreeing(rows) / weights.sum(axis=-1)
        totals = weights @ rows
        return _above_chance(observed, ((totals / totals.sum(axis=-1, keepdims=True)) ** 2).sum(axis=-1))

    return _resampled(counts, kappa, groups)


def krippendorff_alpha(counts: NDArray[np.int64], groups: Groups = None) -> Agreement:
    """Krippendorff's alpha for nominal data: 1 - Do / De.

    With n verdicts in all, m of an item and n_c of a category: Do = sum over items of the ordered pairs that
    differ / (m - 1), over n; De = ordered pairs of all verdicts that differ / (n (n - 1)).
    """

    def alpha(weights: Floats, rows: Floats) -> Floats:
        sizes = rows.sum(axis=1)
        differing = (sizes**2 - (rows**2).sum(axis=1)) / (sizes - 1)
        totals = weights @ rows
        n = totals.sum(axis=-1)
        expected = (n**2 - (totals**2).sum(axis=-1)) / (n - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            values: Floats = 1 - weights @ differing / expected
        return values

    return _resampled(counts, alpha, groups)


def cohen_kappa(first: Sequence[str], second: Sequence[str], groups: Groups = None) -> Agreement:
    """Cohen's kappa of two people on the same items: (Po - Pe) / (1 - Pe).

    Po is the share of items on which they agree, Pe that expected from how often each chooses each category.
    """
    names = {name: place for place, name in enumerate(sorted({*first, *second}))}
    size = len(names)
    chosen = np.zeros((len(first), 2 * size + 1))
    for row, (one, other) in enumerate(zip(first, second, strict=True)):
        chosen[row, names[one]] = chosen[row, size + names[other]] = 1
        chosen[row, -1] = one == other

    def kappa(weights: Floats, rows: Floats) -> Floats:
        means = weights @ rows / weights.sum(axis=-1)[..., None]
        expected = (means[..., :size] * means[..., size : 2 * size]).sum(axis=-1)
        return _above_chance(means[..., -1], expected)

    return _resampled(chosen, kappa, groups)


def _agreeing(rows: Floats) -> Floats:
    """The share of agreeing pairs of verdicts of each item."""
    sizes = rows.sum(axis=1)
    shares: Floats = (rows * (rows - 1)).sum(axis=1) / (sizes * (sizes - 1))
    return shares


def _above_chance(observed: Floats, expected: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((observed - expected) / (1 - expected), np.float64)


def _resampled(
    table: NDArray[np.generic], measure: Callable[[Floats, Floats], Floats], groups: Groups
) -> Agreement:
    """A measure of all items, with the interval from resampled items or groups.

    Items with equal rows count as one kind, and groups with equal numbers of every kind are drawn together:
    the number of each is multinomial.

    Args:
        table: a row for each item.
        measure: of weights of rows and the rows; weights may have several sets, one in each line.
        groups: the group of each item; None if every item is its own.
    """
    if not len(table):
        return Agreement(np.nan, np.nan, np.nan, 0)
    distinct, kinds = np.unique(np.asarray(table, np.float64), axis=0, return_inverse=True)
    if groups is None:
        members, numbers = np.eye(len(distinct)), np.bincount(kinds)
    else:
        names, of_item = np.unique(groups, return_inverse=True)
        in_group = np.zeros((len(names), len(distinct)))
        np.add.at(in_group, (of_item, kinds), 1)
        members, numbers = np.unique(in_group, axis=0, return_counts=True)
    value = float(measure((numbers @ members)[None], distinct)[0])
    if not np.isfinite(value):
        return Agreement(np.nan, np.nan, np.nan, len(table))
    rng = np.random.default_rng(0)
    units = int(numbers.sum())
    drawn = rng.multinomial(units, numbers / units, REPLICATES).astype(np.float64)
    replicates = measure(drawn @ members, distinct)
    spread = float(replicates[np.isfinite(replicates)].std())
    if units < 2 or spread < ROUNDING:
        return Agreement(value, np.nan, np.nan, len(table))
    reach = float(stdtrit(units - 1, (1 + CONFIDENCE) / 2)) * spread
    return Agreement(value, max(-1.0, value - reach), min(1.0, value + reach), len(table))
