"""Categories of corruptions: K-means on the rows of the overlap matrix (Laugros et al. 2021).

K grows from 2. The first K at which the mean Pearson r over pairs of rows of one category exceeds the
threshold is the result. The paper's rows include the diagonal; its threshold is 0.5. The paper leaves two
points open: a category of one candidate has no pairs and does not count here, and the random state is a seed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from windtunnel.analysis.overlap.row_correlations import Labels, Matrix, pair_means, row_correlations
from windtunnel.core.errors import UserError
from windtunnel.core.extras import load_extra
from windtunnel.core.option_names import option
from windtunnel.core.wording import counted

THRESHOLD = 0.5
# The paper's numbers of starts and iterations of K-means.
STARTS = 100
ITERATIONS = 1000
# The largest seed that scikit-learn takes.
MOST_SEED = 2**32 - 1
# K-means from K = 2 needs a candidate that shares its category.
LEAST_CANDIDATES = 3


@dataclass(frozen=True)
class Trial:
    """One number of categories that was tried.

    Attributes:
        k: the number of categories.
        within: mean r over pairs of rows of one category; None without pairs.
        across: mean r over pairs of rows of two categories.
        pairs: number of pairs of one category.
        silhouette: mean silhouette of the rows, -1 to 1, higher is better.
    """

    k: int
    within: float | None
    across: float | None
    pairs: int
    silhouette: float


@dataclass(frozen=True)
class Categories:
    """A partition of the candidates, and the trials that led to it.

    Attributes:
        candidates: the candidates with a category.
        labels: their categories, from 1; the largest category comes first.
        trials: the numbers of categories that were tried; the last one is the result.
        threshold: mean r that the result exceeds.
        diagonal: whether rows include a candidate's overlap with itself.
        seed: seed of K-means.
    """

    candidates: tuple[str, ...]
    labels: tuple[int, ...]
    trials: tuple[Trial, ...]
    threshold: float
    diagonal: bool
    seed: int

    @property
    def k(self) -> int:
        """The number of categories."""
        return max(self.labels)

    @property
    def members(self) -> dict[int, tuple[str, ...]]:
        """The candidates of every category."""
        return members_of(self.candidates, self.labels)

    def to_json(self) -> dict[str, Any]:
        """The categories as a JSON object."""
        return {**asdict(self), "k": self.k, "members": {str(k): names for k, names in self.members.items()}}


def members_of(candidates: Sequence[str], labels: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """The candidates of every category, in ascending order of categories."""
    return {
        category: tuple(name for name, label in zip(candidates, labels, strict=True) if label == category)
        for category in sorted(set(labels))
    }


def categories_of(
    matrix: Matrix,
    candidates: Sequence[str],
    *,
    threshold: float = THRESHOLD,
    diagonal: bool = True,
    seed: int = 0,
    starts: int = STARTS,
) -> Categories:
    """The categories of candidates, all of which have defined overlaps.

    Without the diagonal, K-means gets the mean of the row's other entries in its place, and r of two rows
    leaves out the columns of both candidates.

    Raises:
        UserError: the threshold is not between -1 and 1, the seed is not one of K-means, there are fewer than
            three candidates, or no number of categories reaches the threshold.
    """
    check_rule(threshold, seed)
    count = len(candidates)
    if count < LEAST_CANDIDATES:
        raise UserError(
            f"{counted(count, 'candidate has', 'candidates have')} defined overlaps; categories need "
            f"{LEAST_CANDIDATES} or more. Add candidates, or train with more images or epochs."
        )
    rows = matrix if diagonal else without_diagonal(matrix)
    r = row_correlations(matrix, diagonal=diagonal)
    trials: list[Trial] = []
    for k in range(2, count):
        labels = k_means(rows, k, seed, starts)
        means = pair_means(r, labels)
        trials.append(Trial(k, means.within, means.across, means.pairs_within, silhouette(rows, labels)))
        if means.within is not None and means.within > threshold:
            return Categories(
                tuple(candidates), ordered_labels(labels), tuple(trials), threshold, diagonal, seed
            )
    best = max(trials, key=lambda trial: -math.inf if trial.within is None else trial.within)
    reached = "no pair has a correlation" if best.within is None else f"{best.within:.2f} with {best.k}"
    raise UserError(
        f"No number of categories from 2 to {count - 1} has a mean r within categories above {threshold:g} "
        f"(highest: {reached}); the candidates do not form categories at this threshold. Give a lower "
        f"{option('threshold')}, or measure the overlaps with more seeds."
    )


def check_rule(threshold: float, seed: int) -> None:
    """Refuse a threshold that no correlation can exceed, or every one, and a seed that K-means refuses."""
    if not -1 <= threshold < 1:
        raise UserError(f"{option('threshold')} is {threshold:g}; give a correlation from -1 to below 1.")
    if not 0 <= seed <= MOST_SEED:
        raise UserError(f"{option('seed')} is {seed}; give a whole number from 0 to {MOST_SEED:,}.")


def without_diagonal(matrix: Matrix) -> Matrix:
    """The matrix with the mean of the row's other entries in place of the diagonal."""
    count = len(matrix)
    rows = matrix.copy()
    np.fill_diagonal(rows, (matrix.sum(axis=1) - matrix.diagonal()) / (count - 1))
    return rows


def k_means(rows: Matrix, k: int, seed: int, starts: int) -> Labels:
    """The category of every row by K-means."""
    load_extra("sklearn", "Clustering")
    from sklearn.cluster import KMeans

    model = KMeans(n_clusters=k, n_init=starts, max_iter=ITERATIONS, random_state=seed)
    # Threads are slower than one for so few rows, by far if other work keeps the cores busy.
    with _thread_pools().limit(limits=1):
        return np.asarray(model.fit_predict(rows), np.int64)


@cache
def _thread_pools() -> Any:
    from threadpoolctl import ThreadpoolController  # a dependency of scikit-learn

    return ThreadpoolController()


def silhouette(rows: Matrix, labels: Labels) -> float:
    """The mean silhouette of rows by Euclidean distance; NaN for a single category."""
    load_extra("sklearn", "Clustering")
    from sklearn.metrics import silhouette_score

    found = len(set(labels.tolist()))
    return float(silhouette_score(rows, labels)) if 2 <= found < len(rows) else math.nan


def ordered_labels(labels: Labels) -> tuple[int, ...]:
    """The same partition with categories from 1, the largest first, equal ones by their first candidate."""
    known = labels.tolist()
    order = sorted(set(known), key=lambda label: (-known.count(label), known.index(label)))
    return tuple(1 + order.index(label) for label in known)


@dataclass(frozen=True)
class Variant:
    """The categories under another rule, compared with the result.

    Attributes:
        name: what is different.
        k: the number of categories; None if the rule reaches no result.
        within: mean r over pairs of rows of one category.
        agreement: adjusted Rand index with the result, over the candidates of both; 1 for the same partition.
    """

    name: str
    k: int | None
    within: float | None
    agreement: float | None


def adjusted_rand_index(labels: Mapping[str, int], others: Mapping[str, int]) -> float | None:
    """The adjusted Rand index of two partitions over the candidates that both contain; None below two."""
    load_extra("sklearn", "Comparing categories")
    from sklearn.metrics import adjusted_rand_score

    shared = [name for name in labels if name in others]
    if len(shared) < 2:
        return None
    return float(adjusted_rand_score([labels[name] for name in shared], [others[name] for name in shared]))


def variants_of(
    matrix: Matrix, result: Categories, without: Sequence[str] = (), starts: int = STARTS
) -> tuple[Variant, ...]:
    """The categories with the other rule for the diagonal, and without some candidates."""
    rules: list[tuple[str, bool, tuple[str, ...]]] = [
        ("without the diagonal" if result.diagonal else "with the diagonal", not result.diagonal, ()),
    ]
    if left_out := tuple(name for name in without if name in result.candidates):
        rules.append((f"without {', '.join(left_out)}", result.diagonal, left_out))
    reference = dict(zip(result.candidates, result.labels, strict=True))
    return tuple(_variant(matrix, result, reference, rule, starts) for rule in rules)


def _variant(
    matrix: Matrix,
    result: Categories,
    reference: Mapping[str, int],
    rule: tuple[str, bool, tuple[str, ...]],
    starts: int,
) -> Variant:
    name, diagonal, left_out = rule
    kept = [place for place, candidate in enumerate(result.candidates) if candidate not in left_out]
    names = [result.candidates[place] for place in kept]
    try:
        other = categories_of(
            matrix[np.ix_(kept, kept)],
            names,
            threshold=result.threshold,
            diagonal=diagonal,
            seed=result.seed,
            starts=starts,
        )
    except UserError:
        return Variant(name, None, None, None)
    agreement = adjusted_rand_index(reference, dict(zip(names, other.labels, strict=True)))
    return Variant(name, other.k, other.trials[-1].within, agreement)
