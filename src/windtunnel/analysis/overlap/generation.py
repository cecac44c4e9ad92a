"""Generated benchmarks: Algorithm 1 and the substitution operation of Laugros et al. (2021).

A benchmark is a set of candidates, written as a sorted tuple of their numbers. Categories are given as one
label per candidate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Literal

import numpy as np

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.wording import counted

Benchmark = tuple[int, ...]
# How categories are drawn: each set of categories with the same probability (the paper's algorithm), or each
# possible benchmark. The two differ only if categories differ in size and not all of them are used.
Draw = Literal["categories", "benchmarks"]
DRAWS: tuple[Draw, ...] = ("categories", "benchmarks")


@dataclass(frozen=True)
class Generated:
    """One generated benchmark.

    Attributes:
        benchmark: the numbers of its candidates.
        start: the number of the benchmark of Algorithm 1 that it comes from, from 1.
        substitutions: the number of substitutions since then.
        std: standard deviation of its candidates per category, rounded to one decimal.
    """

    benchmark: Benchmark
    start: int
    substitutions: int
    std: float


def category_std(benchmark: Sequence[int], labels: Sequence[int]) -> float:
    """Standard deviation of the number of candidates per category, over the categories that occur.

    It is the population form (divided by the number of categories), rounded to one decimal.
    """
    return partition_std(tuple(Counter(labels[place] for place in benchmark).values()))


def partition_std(counts: Sequence[int]) -> float:
    """The population standard deviation of counts, rounded to one decimal."""
    return round(float(np.std(counts)), 1)


def possible_benchmarks(labels: Sequence[int], n: int, k: int) -> int:
    """The exact number of different benchmarks of `k` candidates in each of `n` categories."""
    return _ways([math.comb(size, k) for size in Counter(labels).values() if size >= k], n)


def generate_benchmarks(
    labels: Sequence[int], n: int, k: int, count: int, *, seed: int = 0, draw: Draw = "categories"
) -> list[Benchmark]:
    """Different benchmarks by Algorithm 1: `n` categories at random, then `k` candidates in each.

    Categories with fewer than `k` candidates are not drawn. A benchmark that was drawn before is drawn again,
    as in the paper.

    Raises:
        UserError: fewer than `n` categories have `k` candidates, or fewer than `count` benchmarks exist.
    """
    members = eligible_members(labels, n, k)
    exist = possible_benchmarks(labels, n, k)
    if count > exist:
        raise UserError(
            f"{option('count')} is {count:,}, but exactly {exist:,} different benchmarks of {n} categories "
            f"with {k} each exist; give at most {exist:,}."
        )
    generator = np.random.default_rng(seed)
    weights = [math.comb(len(group), k) if draw == "benchmarks" else 1 for group in members]
    # Repeats become frequent if most benchmarks are wanted: then all of them are listed, and drawn one after
    # another without replacement, which is the same distribution.
    if exist <= 2 * count:
        every = list(_all_benchmarks(members, n, k))
        shares = np.array([_probability(benchmark, members, labels, weights, k) for benchmark in every])
        chosen = generator.choice(len(every), count, replace=False, p=shares / shares.sum())
        return [every[place] for place in chosen]
    drawn: dict[Benchmark, None] = {}
    while len(drawn) < count:
        groups = _drawn_groups(weights, n, generator)
        places = (generator.choice(members[group], k, replace=False) for group in groups)
        drawn.setdefault(tuple(sorted(int(place) for part in places for place in part)))
    return list(drawn)


def eligible_members(labels: Sequence[int], n: int, k: int) -> list[list[int]]:
    """The candidates of every category that has at least `k`; refuses fewer than `n` such categories."""
    for name, value in (("categories", n), ("each", k)):
        if value < 1:
            raise UserError(f"{option(name)} is {value}; give at least 1.")
    members = [
        [place for place, label in enumerate(labels) if label == category] for category in sorted(set(labels))
    ]
    large = [group for group in members if len(group) >= k]
    if len(large) < n:
        sizes = ", ".join(str(len(group)) for group in members)
        raise UserError(
            f"{option('categories')} is {n} and {option('each')} is {k}, but "
            f"{counted(len(large), 'category has', 'categories have')} {k} or more candidates (sizes: "
            f"{sizes}); give a smaller {option('each')} or {option('categories')}."
        )
    return large


def _ways(weights: Sequence[int], n: int) -> int:
    """The sum of products over all sets of `n` weights: their elementary symmetric polynomial."""
    sums = [1] + [0] * n
    for weight in weights:
        for size in range(n, 0, -1):
            sums[size] += weight * sums[size - 1]
    return sums[n]


def _drawn_groups(weights: Sequence[int], n: int, generator: np.random.Generator) -> list[int]:
    """A random set of `n` groups, with a probability in proportion to the product of its weights."""
    chosen: list[int] = []
    for group, weight in enumerate(weights):
        left = n - len(chosen)
        if left == 0:
            break
        taken = weight * _ways(weights[group + 1 :], left - 1)
        if generator.random() * (taken + _ways(weights[group + 1 :], left)) < taken:
            chosen.append(group)
    return chosen


def _all_benchmarks(members: Sequence[Sequence[int]], n: int, k: int) -> Iterator[Benchmark]:
    for groups in combinations(members, n):
        for parts in product(*(combinations(group, k) for group in groups)):
            yield tuple(sorted(place for part in parts for place in part))


def _probability(
    benchmark: Benchmark,
    members: Sequence[Sequence[int]],
    labels: Sequence[int],
    weights: Sequence[int],
    k: int,
) -> float:
    """The probability of a benchmark in one draw, up to a factor."""
    inside = {labels[place] for place in benchmark}
    groups = [
        (group, weight) for group, weight in zip(members, weights, strict=True) if labels[group[0]] in inside
    ]
    return math.prod(weight / math.comb(len(group), k) for group, weight in groups)


def substitutions_of(benchmark: Benchmark, labels: Sequence[int]) -> list[tuple[int, int]]:
    """Every allowed substitution: the candidate that is removed and the one that is added.

    1. The set of represented categories stays the same.
    2. The standard deviation of candidates per category increases. It is compared before rounding.
    3. The added candidate is not in the benchmark.
    """
    counts = Counter(labels[place] for place in benchmark)
    inside = set(benchmark)
    added = [place for place in range(len(labels)) if place not in inside and labels[place] in counts]
    # Moving one from a category of a to one of b changes the sum of squares by 2 (b - a + 1): the deviation
    # increases if b >= a. Within one category the counts do not change.
    return [
        (old, new)
        for old in benchmark
        if counts[labels[old]] > 1
        for new in added
        if labels[new] != labels[old] and counts[labels[new]] >= counts[labels[old]]
    ]


def substitute(
    benchmark: Benchmark, labels: Sequence[int], generator: np.random.Generator
) -> Benchmark | None:
    """The benchmark after one random substitution, or None if none is allowed.

    Every allowed pair of a removed and an added candidate has the same probability.
    """
    allowed = substitutions_of(benchmark, labels)
    if not allowed:
        return None
    old, new = allowed[int(generator.integers(len(allowed)))]
    return tuple(sorted((*(place for place in benchmark if place != old), new)))


def substitution_chains(
    benchmarks: Sequence[Benchmark], labels: Sequence[int], length: int, *, seed: int = 0
) -> list[Generated]:
    """Every benchmark, followed by those after 1 to `length` substitutions in a row.

    A chain ends earlier if no substitution is allowed any more.
    """
    generator = np.random.default_rng([seed, 1])
    chains: list[Generated] = []
    for start, first in enumerate(benchmarks, start=1):
        chains.append(Generated(first, start, 0, category_std(first, labels)))
        current = first
        for step in range(1, length + 1):
            changed = substitute(current, labels, generator)
            if changed is None:
                break
            current = changed
            chains.append(Generated(current, start, step, category_std(current, labels)))
    return chains


def by_std(generated: Sequence[Generated]) -> dict[float, int]:
    """The number of benchmarks of every standard deviation."""
    return dict(sorted(Counter(each.std for each in generated).items()))
