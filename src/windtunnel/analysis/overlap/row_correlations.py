"""Correlations of the rows of an overlap matrix, and their means within and across categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windtunnel.stats.correlation import correlation_matrix, pearson

Matrix = NDArray[np.float64]
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class PairMeans:
    """Means over pairs of candidates.

    Attributes:
        within: mean over pairs of one category; None without such a pair. A category of one candidate has
            no pairs and does not count.
        across: mean over pairs of two categories; None without such a pair.
        pairs_within: number of pairs of one category.
        pairs_across: number of pairs of two categories.
        undefined: number of pairs without a value, which are left out.
    """

    within: float | None
    across: float | None
    pairs_within: int
    pairs_across: int
    undefined: int = 0


def row_correlations(matrix: Matrix, *, diagonal: bool = True) -> Matrix:
    """Pearson's r of every pair of rows; NaN where a row is constant.

    Without the diagonal, r of rows i and j leaves out columns i and j, which contain the two overlaps of a
    candidate with itself.
    """
    if diagonal:
        return correlation_matrix(matrix.T, matrix.T)[0]
    count = len(matrix)
    r = np.eye(count)
    for i in range(count):
        for j in range(i):
            others = [column for column in range(count) if column not in (i, j)]
            correlation = pearson(matrix[i, others], matrix[j, others])
            r[i, j] = r[j, i] = np.nan if correlation is None else correlation.r
    return r


def pair_means(values: Matrix, labels: Sequence[int] | Labels) -> PairMeans:
    """Means of a symmetric matrix over pairs of one category and over pairs of two categories."""
    first, second = np.triu_indices(len(values), k=1)
    pairs, of_categories = values[first, second], np.asarray(labels)
    same, known = of_categories[first] == of_categories[second], np.isfinite(pairs)
    within, across = pairs[same & known], pairs[~same & known]
    return PairMeans(
        float(within.mean()) if len(within) else None,
        float(across.mean()) if len(across) else None,
        len(within),
        len(across),
        int((~known).sum()),
    )
