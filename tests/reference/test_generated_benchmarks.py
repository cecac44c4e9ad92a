"""Generated and selected benchmarks against enumeration, chi-square tests and brute force."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from windtunnel import UserError
from windtunnel.analysis.overlap.generation import (
    Benchmark,
    category_std,
    generate_benchmarks,
    partition_std,
    possible_benchmarks,
    substitute,
    substitution_chains,
    substitutions_of,
)
from windtunnel.analysis.overlap.selection import (
    same_category_overlap,
    select_exactly,
    select_generated,
    selection_shares,
)

# Categories of 4, 3 and 2 candidates.
LABELS = (1, 1, 1, 1, 2, 2, 2, 3, 3)


def all_benchmarks(labels: tuple[int, ...], n: int, k: int) -> list[Benchmark]:
    """Every benchmark, by enumeration of all sets."""
    return [
        benchmark
        for benchmark in combinations(range(len(labels)), n * k)
        if sorted(Counter(labels[place] for place in benchmark).values()) == [k] * n
    ]


def partitions(total: int, parts: int, most: int) -> list[tuple[int, ...]]:
    if parts == 0:
        return [()] if total == 0 else []
    return [
        (first, *rest)
        for first in range(1, min(most, total) + 1)
        for rest in partitions(total - first, parts - 1, first)
    ]


def test_partitions_of_twelve_into_six_have_the_published_deviations() -> None:
    """The columns of Table 3 of the paper, and no other value."""
    found = {partition_std(counts) for counts in partitions(12, 6, 12)}
    assert sorted(found) == [0.0, 0.6, 0.8, 1.0, 1.2, 1.4, 1.5, 1.8, 2.2]
    assert partition_std((7, 1, 1, 1, 1, 1)) == 2.2
    assert partition_std((2, 2, 2, 2, 2, 2)) == 0.0


def test_the_deviation_is_over_represented_categories_only() -> None:
    assert category_std((0, 1, 2, 4), LABELS) == 1.0  # counts 3 and 1
    assert category_std((0, 1, 4, 5), LABELS) == 0.0


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 2), (3, 1), (3, 2), (2, 3), (1, 4)])
def test_the_number_of_possible_benchmarks_is_exact(n: int, k: int) -> None:
    assert possible_benchmarks(LABELS, n, k) == len(all_benchmarks(LABELS, n, k))


def test_the_paper_number_of_six_by_three() -> None:
    sizes = (10, 8, 7, 6, 6, 3)
    labels = [category for category, size in enumerate(sizes) for _ in range(size)]
    assert possible_benchmarks(labels, 6, 3) == math.prod(math.comb(size, 3) for size in sizes)


@pytest.mark.parametrize("draw", ["categories", "benchmarks"])
def test_all_possible_benchmarks_can_be_asked_for(draw: str) -> None:
    found = generate_benchmarks(LABELS, 2, 2, 27, draw=draw)  # type: ignore[arg-type]
    assert sorted(found) == sorted(all_benchmarks(LABELS, 2, 2))


@pytest.mark.parametrize("draw", ["categories", "benchmarks"])
@pytest.mark.parametrize("count", [1, 20])
def test_benchmarks_are_drawn_with_the_stated_probabilities(draw: str, count: int) -> None:
    """The first benchmark of many seeds; 1 is drawn directly, 20 of 27 from the list of all."""
    times = 3000
    first = Counter(
        generate_benchmarks(LABELS, 2, 2, count, seed=seed, draw=draw)[0]  # type: ignore[arg-type]
        for seed in range(times)
    )
    every = all_benchmarks(LABELS, 2, 2)
    sizes = {1: math.comb(4, 2), 2: math.comb(3, 2), 3: math.comb(2, 2)}
    if draw == "benchmarks":
        expected = [times / len(every)] * len(every)
    else:  # three sets of two categories are equally likely, and the pairs of each
        expected = [
            times / 3 / math.prod(sizes[category] for category in {LABELS[place] for place in benchmark})
            for benchmark in every
        ]
    assert set(first) <= set(every)
    assert chisquare([first[benchmark] for benchmark in every], expected).pvalue > 0.001


def test_more_benchmarks_than_exist_are_refused_with_their_number() -> None:
    with pytest.raises(UserError, match="exactly 27 different benchmarks of 2 categories with 2 each exist"):
        generate_benchmarks(LABELS, 2, 2, 28)


def test_categories_that_are_too_small_are_refused_with_the_sizes() -> None:
    with pytest.raises(UserError, match=r"2 categories have 3 or more candidates \(sizes: 4, 3, 2\)"):
        generate_benchmarks(LABELS, 3, 3, 1)


def deviation(benchmark: Benchmark, labels: list[int]) -> float:
    """By the standard library."""
    return statistics.pstdev(Counter(labels[place] for place in benchmark).values())


@st.composite
def benchmark_of_categories(draw: st.DrawFn) -> tuple[list[int], Benchmark]:
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=6))
    labels = [category for category, size in enumerate(sizes) for _ in range(size)]
    chosen = draw(st.sets(st.integers(0, len(labels) - 1), min_size=1))
    return labels, tuple(sorted(chosen))


@given(benchmark_of_categories(), st.integers(0, 2**32 - 1))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_a_substitution_keeps_its_three_conditions(case: tuple[list[int], Benchmark], seed: int) -> None:
    labels, benchmark = case
    changed = substitute(benchmark, labels, np.random.default_rng(seed))
    allowed = {
        (old, new)
        for old, new in product(benchmark, range(len(labels)))
        if new not in benchmark
        and {labels[place] for place in benchmark}
        == {labels[place] for place in (*(set(benchmark) - {old}), new)}
        and deviation(tuple({*benchmark, new} - {old}), labels) > deviation(benchmark, labels) + 1e-9
    }
    assert set(substitutions_of(benchmark, labels)) == allowed
    if not allowed:
        assert changed is None
        return
    assert changed is not None
    assert len(changed) == len(set(changed)) == len(benchmark)
    (old,) = set(benchmark) - set(changed)
    (new,) = set(changed) - set(benchmark)
    assert (old, new) in allowed


def test_chains_of_the_paper_have_its_deviations_and_its_numbers() -> None:
    """1,000 benchmarks of six categories with two each; 1 to 5 substitutions give up to 5,000 more."""
    labels = [category for category, size in enumerate((9, 8, 7, 6, 5, 4)) for _ in range(size)]
    drawn = generate_benchmarks(labels, 6, 2, 1000)
    assert len(set(drawn)) == 1000
    chains = substitution_chains(drawn, labels, 5)
    assert 5500 < len(chains) <= 6000
    assert {each.std for each in chains} <= {0.0, 0.6, 0.8, 1.0, 1.2, 1.4, 1.5, 1.8, 2.2}
    deviations: dict[int, list[float]] = {}
    for each in chains:
        deviations.setdefault(each.start, []).append(deviation(each.benchmark, labels))
    assert all(list(rising) == sorted(set(rising)) for rising in deviations.values())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "k"), [(1, 2), (2, 2), (3, 2), (2, 3)])
def test_the_exact_selection_is_the_least_of_all_benchmarks(seed: int, n: int, k: int) -> None:
    drawn = np.random.default_rng(seed).random((9, 9))
    matrix = (drawn + drawn.T) / 2

    def overlap(benchmark: Benchmark) -> float:
        pairs = [(i, j) for i, j in combinations(benchmark, 2) if LABELS[i] == LABELS[j]]
        return float(np.mean([matrix[i, j] for i, j in pairs]))

    every = all_benchmarks(LABELS, n, k)
    selected = select_exactly(matrix, LABELS, n, k)
    assert selected.overlap == pytest.approx(min(map(overlap, every)))
    assert overlap(selected.benchmark) == pytest.approx(selected.overlap)
    assert same_category_overlap(matrix, LABELS, selected.benchmark) == pytest.approx(selected.overlap)
    some = every[:5]
    assert select_generated(matrix, LABELS, some).overlap == pytest.approx(min(map(overlap, some)))


def test_one_candidate_per_category_is_its_most_typical_one() -> None:
    matrix = np.full((9, 9), 0.1)
    matrix[2, :4] = matrix[:4, 2] = 0.9  # candidate 2 overlaps the others of category 1 most
    selected = select_exactly(matrix, LABELS, 2, 1)
    assert selected.benchmark == (2, 4)
    assert selected.overlap is None


def test_equal_candidates_share_the_replicates() -> None:
    """Two candidates of a category have the same overlap with each other in every replicate."""
    replicates = np.stack([np.array([[1.0, x, 0.1], [x, 1.0, 0.1], [0.1, 0.1, 1.0]]) for x in (0.4, 0.6)])
    assert selection_shares(replicates, [1, 1, 2], 2, 1, (0, 2)) == {0: 0.5, 2: 1.0}


def test_a_selection_that_is_too_large_for_enumeration_is_refused() -> None:
    with pytest.raises(UserError, match=r"137,846,528,820 combinations of 20; .* up to 2,000,000"):
        select_exactly(np.zeros((40, 40)), [1] * 40, 1, 20)


def test_selection_shares_count_replicates() -> None:
    first = np.array([[1, 0.1, 0.9], [0.1, 1, 0.9], [0.9, 0.9, 1]])  # the pair 0, 1
    second = np.array([[1, 0.9, 0.9], [0.9, 1, 0.1], [0.9, 0.1, 1]])  # the pair 1, 2
    undefined = np.full((3, 3), np.nan)
    replicates = np.stack([first, first, second, undefined, first])
    assert selection_shares(replicates, [1, 1, 1], 1, 2, (0, 1)) == {0: 0.75, 1: 1.0}
    assert selection_shares(undefined[None], [1, 1, 1], 1, 2, (0, 1)) is None
