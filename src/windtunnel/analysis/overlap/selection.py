"""Selection of a benchmark whose corruptions of one category overlap least.

The paper takes the benchmark with the least overlap of same-category members out of those that Algorithm 1
generated. The exact rule takes the least over all possible ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np

from windtunnel.analysis.overlap.generation import Benchmark, eligible_members
from windtunnel.analysis.overlap.row_correlations import Matrix, pair_means
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option

# The most combinations of one category that the exact rule compares.
MOST_COMBINATIONS = 2_000_000
_BLOCK = 200_000


@dataclass(frozen=True)
class Selection:
    """A selected benchmark.

    Attributes:
        benchmark: the numbers of its candidates.
        overlap: mean overlap over pairs of one category; None if every category has one candidate.
        compared: number of benchmarks or combinations that were compared.
    """

    benchmark: Benchmark
    overlap: float | None
    compared: int


def same_category_overlap(matrix: Matrix, labels: Sequence[int], benchmark: Benchmark) -> float | None:
    """Mean overlap over the pairs of one category in a benchmark; None without such a pair."""
    places = list(benchmark)
    return pair_means(matrix[np.ix_(places, places)], [labels[place] for place in places]).within


def select_exactly(matrix: Matrix, labels: Sequence[int], n: int, k: int) -> Selection:
    """The benchmark of `k` candidates in each of `n` categories with the least overlap.

    All categories contribute the same number of pairs, so the least mean of the benchmark consists of the
    least mean of each category, and of the `n` categories with the smallest of them. One candidate has no
    pairs: with k = 1, each category is represented by the candidate with the largest mean overlap with the
    others, and the largest categories are taken. Ties are decided by the order of candidates.
    """
    members = eligible_members(labels, n, k)
    if k == 1:
        largest = sorted(members, key=len, reverse=True)[:n]
        chosen = sorted(representatives(matrix, group)[0] for group in largest)
        return Selection(tuple(chosen), None, sum(map(len, members)))
    for group in members:
        if math.comb(len(group), k) > MOST_COMBINATIONS:
            raise UserError(
                f"A category of {len(group)} candidates has {math.comb(len(group), k):,} combinations of "
                f"{k}; the exact rule compares up to {MOST_COMBINATIONS:,}. Give a smaller {option('each')}, "
                f"or {option('rule', 'generated')}."
            )
    least = sorted((least_overlapping(matrix, group, k) for group in members), key=lambda found: found[0])
    chosen = sorted(place for _, places in least[:n] for place in places)
    return Selection(
        tuple(chosen),
        sum(mean for mean, _ in least[:n]) / n,
        sum(math.comb(len(group), k) for group in members),
    )


def select_generated(matrix: Matrix, labels: Sequence[int], benchmarks: Sequence[Benchmark]) -> Selection:
    """The benchmark with the least overlap among generated ones; the first of equal ones."""
    overlaps = [same_category_overlap(matrix, labels, benchmark) for benchmark in benchmarks]
    known = [(overlap, place) for place, overlap in enumerate(overlaps) if overlap is not None]
    if not known:
        raise UserError(
            f"Benchmarks with one candidate per category have no overlaps to compare; give {option('each')} "
            f"of 2 or more, or {option('rule', 'exact')}."
        )
    overlap, place = min(known)
    return Selection(benchmarks[place], overlap, len(benchmarks))


def selection_shares(
    matrices: Matrix, labels: Sequence[int], n: int, k: int, chosen: Benchmark
) -> dict[int, float] | None:
    """Share of bootstrap replicates in which the exact rule selects each of some candidates.

    The categories stay the same. Replicates with an undefined candidate are left out; None if all are. With
    k = 1, a replicate counts as 1 / t for each of t candidates whose mean overlaps are equal: in a category
    of two they always are.
    """
    defined = [matrix for matrix in matrices if np.isfinite(matrix).all()]
    if not defined:
        return None
    if k == 1:
        groups = [
            next(group for group in eligible_members(labels, n, k) if place in group) for place in chosen
        ]
        shares = {}
        for place, group in zip(chosen, groups, strict=True):
            ties = [representatives(matrix, group) for matrix in defined]
            shares[place] = sum(1 / len(equal) for equal in ties if place in equal) / len(ties)
        return shares
    selected = [set(select_exactly(matrix, labels, n, k).benchmark) for matrix in defined]
    return {place: sum(place in each for each in selected) / len(selected) for place in chosen}


def representatives(matrix: Matrix, group: Sequence[int]) -> list[int]:
    """The candidates with the largest mean overlap with the others of their category; several if equal."""
    block = matrix[np.ix_(group, group)]
    sums = block.sum(axis=1) - block.diagonal()
    return [place for place, total in zip(group, sums, strict=True) if np.isclose(total, sums.max())]


def least_overlapping(matrix: Matrix, group: Sequence[int], k: int) -> tuple[float, tuple[int, ...]]:
    """The `k` candidates of a category with the least mean overlap, and that mean."""
    best, places = math.inf, tuple(group[:k])
    every = combinations(group, k)
    pairs = list(combinations(range(k), 2))
    while block := list(islice(every, _BLOCK)):
        numbers = np.array(block)
        sums = np.zeros(len(numbers))
        for first, second in pairs:
            sums += matrix[numbers[:, first], numbers[:, second]]
        place = int(np.argmin(sums))
        if sums[place] / len(pairs) < best:
            best, places = float(sums[place] / len(pairs)), block[place]
    return best, places
