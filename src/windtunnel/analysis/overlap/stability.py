"""Stability of categories: the same clustering on bootstrap replicates of the overlap matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from windtunnel.analysis.overlap.categories import (
    LEAST_CANDIDATES,
    Categories,
    adjusted_rand_index,
    categories_of,
    k_means,
    ordered_labels,
    without_diagonal,
)
from windtunnel.analysis.overlap.row_correlations import Matrix
from windtunnel.core.errors import UserError
from windtunnel.core.progress import Progress, silent

# Starts of K-means on a replicate; 100, as for the result, would take minutes.
REPLICATE_STARTS = 10
RANGE = (0.025, 0.975)


@dataclass(frozen=True)
class Stability:
    """How much the categories depend on the seeds and images of the study.

    Attributes:
        replicates: number of replicates that were clustered.
        agreement: median adjusted Rand index of a replicate's categories with the result, at the same K.
        agreement_low, agreement_high: its 2.5 % and 97.5 % quantiles over replicates.
        candidates: the candidates of `together`.
        together: share of replicates in which two candidates have the same category; None if they never
            occur together.
        k_counts: how many replicates choose each K by the rule; 0 stands for no K.
    """

    replicates: int
    agreement: float
    agreement_low: float
    agreement_high: float
    candidates: tuple[str, ...]
    together: tuple[tuple[float | None, ...], ...]
    k_counts: dict[int, int]

    def cohesion(self, members: Sequence[str]) -> float | None:
        """Mean share of replicates in which two members of a category have one category; None below two."""
        return _mean([self._share(first, second) for first, second in combinations(members, 2)])

    def membership(self, candidate: str, members: Sequence[str]) -> float | None:
        """Mean share of replicates in which a candidate has the category of each of some others."""
        return _mean([self._share(candidate, other) for other in members if other != candidate])

    def _share(self, first: str, second: str) -> float | None:
        return self.together[self.candidates.index(first)][self.candidates.index(second)]

    def to_json(self) -> dict[str, Any]:
        """The stability as a JSON object."""
        return {**asdict(self), "k_counts": {str(k): count for k, count in self.k_counts.items()}}


def stability_of(result: Categories, replicates: Matrix, progress: Progress = silent) -> Stability | None:
    """The stability of categories, or None if no replicate can be clustered.

    A candidate that is undefined in a replicate is left out of it. Replicates with too few candidates for K
    categories are left out.

    Args:
        result: the categories.
        replicates: matrices over the candidates of `result`, (replicates, candidates, candidates).
        progress: counts replicates.
    """
    count = len(result.candidates)
    reference = dict(zip(result.candidates, result.labels, strict=True))
    same, seen = np.zeros((count, count)), np.zeros((count, count))
    agreements: list[float] = []
    k_counts: dict[int, int] = {}
    for replicate in replicates:
        progress(1, len(replicates))
        kept = np.flatnonzero(np.isfinite(replicate.diagonal()))
        if len(kept) <= max(result.k, LEAST_CANDIDATES - 1):
            continue
        matrix = replicate[np.ix_(kept, kept)]
        rows = matrix if result.diagonal else without_diagonal(matrix)
        names = [result.candidates[place] for place in kept]
        labels = ordered_labels(k_means(rows, result.k, result.seed, REPLICATE_STARTS))
        agreement = adjusted_rand_index(reference, dict(zip(names, labels, strict=True)))
        if agreement is not None:
            agreements.append(agreement)
        same[np.ix_(kept, kept)] += np.equal.outer(labels, labels)
        seen[np.ix_(kept, kept)] += 1
        chosen = _chosen_k(matrix, names, result)
        k_counts[chosen] = k_counts.get(chosen, 0) + 1
    if not agreements:
        return None
    low, high = np.quantile(agreements, RANGE)
    together = tuple(
        tuple(float(same[i, j] / seen[i, j]) if seen[i, j] else None for j in range(count))
        for i in range(count)
    )
    return Stability(
        len(agreements),
        float(np.median(agreements)),
        float(low),
        float(high),
        result.candidates,
        together,
        dict(sorted(k_counts.items())),
    )


def _mean(shares: Sequence[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return sum(known) / len(known) if known else None


def _chosen_k(matrix: Matrix, names: list[str], result: Categories) -> int:
    """The number of categories that the rule chooses; 0 if it reaches none."""
    try:
        return categories_of(
            matrix,
            names,
            threshold=result.threshold,
            diagonal=result.diagonal,
            seed=result.seed,
            starts=REPLICATE_STARTS,
        ).k
    except UserError:
        return 0
