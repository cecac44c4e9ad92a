"""Agreement of people who judge the same items: per cent, Cohen's and Fleiss' kappa, Krippendorff's alpha.

Verdicts are nominal. Items may have different numbers of verdicts; those with fewer than two do not count.
Intervals of coefficients are value -+ t*sd of bootstrap replicates over items, or over groups of items that
belong together, within -1 and 1. Without any variation, and for a single item or group, they are not defined.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import stdtrit

from windtunnel.stats.bootstrap import REPLICATES
from windtunnel.stats.intervals import CONFIDENCE, Groups, mean_between_0_and_1

# A smaller deviation of replicates is one of rounding.
ROUNDING = 1e-12
# Replicates are computed in parts of about this many numbers.
NUMBERS_AT_ONCE = 4_000_000
Floats = NDArray[np.float64]
# Items by categories; very many categories may occur, but few of them in one item.
Sparse: TypeAlias = "csr_array[Any, tuple[int, int]]"  # SciPy 1.14 cannot evaluate it
Counts: TypeAlias = "Sparse | NDArray[np.int64]"
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


def count_table(ratings: Ratings) -> Counts:
    """Items with at least two verdicts by categories: how many people chose each."""
    rated = [item for item in ratings if len(item) >= 2]
    names = sorted({value for item in ratings for value in item.values()})
    places = {name: place for place, name in enumerate(names)}
    chosen = [places[value] for item in rated for value in item.values()]
    rows = np.repeat(np.arange(len(rated)), [len(item) for item in rated])
    return csr_array((np.ones(len(chosen), np.int64), (rows, chosen)), (len(rated), len(names)))


def percent_agreement(counts: Counts, groups: Groups = None) -> Agreement:
    """The share of pairs of verdicts on the same item that agree, averaged over items; 0 to 1."""
    if not counts.shape[0]:
        return Agreement(np.nan, np.nan, np.nan, 0)
    shares = _agreeing(_sparse(counts))
    return Agreement(float(shares.mean()), *mean_between_0_and_1(shares, groups), len(shares))


def fleiss_kappa(counts: Counts, groups: Groups = None) -> Agreement:
    """Fleiss' kappa: (P - Pe) / (1 - Pe).

    P is the mean agreement of items, Pe the sum of squared shares of the categories. Items with more verdicts
    have more weight in the shares.
    """

    def kappa(weights: Floats, rows: Sparse) -> Floats:
        observed = weights @ _agreeing(rows) / weights.sum(axis=-1)
        totals = weights @ rows
        return _above_chance(observed, ((totals / totals.sum(axis=-1, keepdims=True)) ** 2).sum(axis=-1))

    return _resampled(counts, kappa, groups)


def krippendorff_alpha(counts: Counts, groups: Groups = None) -> Agreement:
    """Krippendorff's alpha for nominal data: 1 - Do / De.

    With n verdicts in all, m of an item and n_c of a category: Do = sum over items of the ordered pairs that
    differ / (m - 1), over n; De = ordered pairs of all verdicts that differ / (n (n - 1)).
    """

    def alpha(weights: Floats, rows: Sparse) -> Floats:
        sizes = rows.sum(axis=1)
        differing = (sizes**2 - rows.power(2).sum(axis=1)) / (sizes - 1)
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
    size, items = len(names), np.arange(len(first))
    one, other = (np.array([names[name] for name in chosen], np.int64) for chosen in (first, second))
    agreed = items[one == other]
    # Columns: the categories of the first, those of the second, and whether they agree.
    columns = np.concatenate([one, size + other, np.full(len(agreed), 2 * size)])
    rows = np.concatenate([items, items, agreed])
    chosen = csr_array((np.ones(len(rows)), (rows, columns)), (len(items), 2 * size + 1))

    def kappa(weights: Floats, rows: Sparse) -> Floats:
        means = weights @ rows / weights.sum(axis=-1)[..., None]
        expected = (means[..., :size] * means[..., size : 2 * size]).sum(axis=-1)
        return _above_chance(means[..., -1], expected)

    return _resampled(chosen, kappa, groups)


def _sparse(counts: Counts) -> Sparse:
    return csr_array(counts).astype(np.float64)


def _agreeing(rows: Sparse) -> Floats:
    """The share of agreeing pairs of verdicts of each item."""
    sizes = rows.sum(axis=1)
    shares: Floats = (rows.power(2).sum(axis=1) - sizes) / (sizes * (sizes - 1))
    return shares


def _above_chance(observed: Floats, expected: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((observed - expected) / (1 - expected), np.float64)


def _resampled(table: Counts, measure: Callable[[Floats, Sparse], Floats], groups: Groups) -> Agreement:
    """A measure of all items, with the interval from resampled items or groups.

    Items with equal rows count as one kind, and groups with equal numbers of every kind are drawn together:
    the number of each is multinomial.

    Args:
        table: a row for each item.
        measure: of weights of rows and the rows; weights may have several sets, one in each line.
        groups: the group of each item; None if every item is its own.
    """
    items = table.shape[0]
    if not items:
        return Agreement(np.nan, np.nan, np.nan, 0)
    distinct, kinds, numbers = _distinct_rows(_sparse(table))
    members: Sparse | None = None
    if groups is not None:
        names, of_item = np.unique(groups, return_inverse=True)
        shape = (len(names), distinct.shape[0])
        members, _, numbers = _distinct_rows(csr_array((np.ones(items), (of_item, kinds)), shape))

    def measured(drawn: Floats) -> Floats:
        return measure(drawn if members is None else drawn @ members, distinct)

    value = float(measured(numbers[None].astype(np.float64))[0])
    if not np.isfinite(value):
        return Agreement(np.nan, np.nan, np.nan, items)
    rng = np.random.default_rng(0)
    units = int(numbers.sum())
    together = max(1, NUMBERS_AT_ONCE // max(len(numbers), *distinct.shape))
    replicates = np.concatenate(
        [
            measured(rng.multinomial(units, numbers / units, min(together, REPLICATES - begun)).astype(float))
            for begun in range(0, REPLICATES, together)
        ]
    )
    spread = float(replicates[np.isfinite(replicates)].std())
    if units < 2 or spread < ROUNDING:
        return Agreement(value, np.nan, np.nan, items)
    reach = float(stdtrit(units - 1, (1 + CONFIDENCE) / 2)) * spread
    return Agreement(value, max(-1.0, value - reach), min(1.0, value + reach), items)


def _distinct_rows(table: Sparse) -> tuple[Sparse, NDArray[np.int64], NDArray[np.int64]]:
    """The distinct rows of a table in increasing order, the place of each row among them, and their numbers.

    Of two rows, the one with the smaller number in the first column that differs comes first.
    """
    table.sum_duplicates()
    table.eliminate_zeros()
    bounds = table.indptr.tolist()
    entries = list(zip((-table.indices).tolist(), table.data.tolist(), strict=True))
    rows = [tuple(entries[begin:end]) for begin, end in pairwise(bounds)]
    first_of: dict[tuple[tuple[int, float], ...], int] = {}
    for number, row in enumerate(rows):
        first_of.setdefault(row, number)
    # A row with an entry in an earlier column, or with more entries after the same ones, is the larger.
    order = {row: place for place, row in enumerate(sorted(first_of))}
    places = np.array([order[row] for row in rows], np.int64)
    return table[[first_of[row] for row in order]], places, np.bincount(places)
