"""Selection of a benchmark whose corruptions of one category overlap least.

The paper takes the benchmark with the least overlap of same-category members out of those that Algorithm 1
generated. The exact rule takes the least over all possible ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.overlap.generation import Benchmark, eligible_members
from windtunnel.analysis.overlap.row_correlations import Matrix, pair_means
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent

Block = NDArray[np.int32]

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
    benchmark, overlap = _least(matrix, _compared(members, k), n)
    return Selection(benchmark, overlap, sum(math.comb(len(group), k) for group in members))


def _compared(members: Sequence[Sequence[int]], k: int) -> list[list[Block]]:
    """All combinations of `k` candidates of each category; too many are refused."""
    for group in members:
        if math.comb(len(group), k) > MOST_COMBINATIONS:
            raise UserError(
                f"A category of {len(group)} candidates has {math.comb(len(group), k):,} combinations of "
                f"{k}; the exact rule compares up to {MOST_COMBINATIONS:,}. Give a smaller {option('each')}, "
                f"or {option('rule', 'generated')}."
            )
    return [list(_blocks(group, k)) for group in members]


def _least(matrix: Matrix, compared: Sequence[Iterable[Block]], n: int) -> tuple[Benchmark, float]:
    """The combinations with the least overlap of the `n` categories where it is smallest, and its mean."""
    least = sorted((_least_of(matrix, blocks) for blocks in compared), key=lambda found: found[0])[:n]
    chosen = sorted(place for _, places in least for place in places)
    return tuple(chosen), sum(mean for mean, _ in least) / n


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
    matrices: Matrix,
    labels: Sequence[int],
    n: int,
    k: int,
    chosen: Benchmark,
    progress: Progress = silent,
) -> dict[int, float] | None:
    """Share of bootstrap replicates in which the exact rule selects each of some candidates.

    The categories stay the same. Replicates with an undefined candidate are left out; None if all are. With
    k = 1, a replicate counts as 1 / t for each of t candidates whose mean overlaps are equal: in a category
    of two they always are. `progress` counts replicates.
    """
    defined = [matrix for matrix in matrices if np.isfinite(matrix).all()]
    if not defined:
        return None
    members = eligible_members(labels, n, k)
    if k == 1:
        groups = [next(group for group in members if place in group) for place in chosen]
        shares = {}
        for place, group in zip(chosen, groups, strict=True):
            ties = [representatives(matrix, group) for matrix in defined]
            shares[place] = sum(1 / len(equal) for equal in ties if place in equal) / len(ties)
        return shares
    compared, counts = _compared(members, k), dict.fromkeys(chosen, 0)
    for matrix in defined:
        selected, _ = _least(matrix, compared, n)
        for place in chosen:
            counts[place] += place in selected
        progress(1, len(defined))
    return {place: count / len(defined) for place, count in counts.items()}


def representatives(matrix: Matrix, group: Sequence[int]) -> list[int]:
    """The candidates with the largest mean overlap with the others of their category; several if equal."""
    block = matrix[np.ix_(group, group)]
    sums = block.sum(axis=1) - block.diagonal()
    return [place for place, total in zip(group, sums, strict=True) if np.isclose(total, sums.max())]


def least_overlapping(matrix: Matrix, group: Sequence[int], k: int) -> tuple[float, tuple[int, ...]]:
    """The `k` candidates of a category with the least mean overlap, and that mean."""
    return _least_of(matrix, _blocks(group, k))


def _blocks(group: Sequence[int], k: int) -> Iterator[Block]:
    """All combinations of `k` candidates of a category, one in each row, in the order of the candidates."""
    every = chain.from_iterable(combinations(group, k))
    while (block := np.fromiter(islice(every, _BLOCK * k), np.int32)).size:
        yield block.reshape(-1, k)


def _least_of(matrix: Matrix, blocks: Iterable[Block]) -> tuple[float, tuple[int, ...]]:
    """The least mean overlap of some combinations, and the first that has it."""
    best = math.inf
    places: tuple[int, ...] = ()
    for block in blocks:
        pairs = list(combinations(range(block.shape[1]), 2))
        sums = np.zeros(len(block))
        for first, second in pairs:
            sums += matrix[block[:, first], block[:, second]]
        place = int(np.argmin(sums))
        if sums[place] / len(pairs) < best:
            best, places = float(sums[place] / len(pairs)), tuple(map(int, block[place]))
    return best, places
