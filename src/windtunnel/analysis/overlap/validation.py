"""Validation of categories on other models than those of the study.

Residual robustness of a model on a corruption is its accuracy on clean images minus its accuracy on the
corruption. If categories are real, the residuals of two corruptions of one category correlate over models
more than those of two categories. Published: mean r 0.67 within and 0.10 across six categories, 21 models
(Laugros et al. 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from windtunnel.analysis.overlap.row_correlations import Matrix, pair_means
from windtunnel.core.errors import UserError
from windtunnel.core.wording import counted, listed
from windtunnel.stats.correlation import correlation_matrix

PUBLISHED_WITHIN = 0.67
PUBLISHED_ACROSS = 0.10
PUBLISHED_MODELS = 21
PERMUTATIONS = 10_000
# With two models every r is 1 or -1.
LEAST_MODELS = 3
# Below this number a single r has an interval of more than half its range.
FEW_MODELS = 10


@dataclass(frozen=True)
class CategoryCorrelation:
    """Mean r over pairs of one category; None without pairs."""

    category: int
    within: float | None
    pairs: int


@dataclass(frozen=True)
class Validation:
    """Correlations of residual robustness within and across categories.

    Attributes:
        models: the models.
        candidates: the candidates with results of all models, in the order of the correlations.
        missing: candidates with a category but without results.
        within, across: mean r over pairs of one category and of two categories.
        pairs_within, pairs_across: their numbers.
        undefined: pairs without r, because all models have the same residual.
        p: share of permuted categories whose difference within - across is at least as large, one-sided.
        permutations: number of permutations.
        by_category: mean r within every category.
        warnings: reasons to doubt the result.
    """

    models: tuple[str, ...]
    candidates: tuple[str, ...]
    missing: tuple[str, ...]
    within: float
    across: float
    pairs_within: int
    pairs_across: int
    undefined: int
    p: float
    permutations: int
    by_category: tuple[CategoryCorrelation, ...]
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The validation as a JSON object, with the published reference."""
        published = {"within": PUBLISHED_WITHIN, "across": PUBLISHED_ACROSS, "models": PUBLISHED_MODELS}
        return {**asdict(self), "published": published}


def validate_categories(
    residuals: Matrix,
    models: Sequence[str],
    candidates: Sequence[str],
    categories: dict[str, int],
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    warnings: Sequence[str] = (),
) -> Validation:
    """Correlations within and across categories, with a permutation test of their difference.

    The test permutes the categories of candidates, which keeps the sizes of categories. Candidates without a
    category and those without results of all models are left out.

    Args:
        residuals: clean accuracy minus accuracy, (models, candidates); NaN for no result.
        models: names of the rows.
        candidates: names of the columns.
        categories: the category of every candidate that has one.
        permutations: number of permutations.
        seed: seed of the permutations.
        warnings: reasons to doubt the table, which are passed on.
    """
    if len(models) < LEAST_MODELS:
        raise UserError(
            f"There are results of {counted(len(models), 'model')}; correlations over models need "
            f"{LEAST_MODELS} or more. Give runs or a table of more models."
        )
    kept = [
        place
        for place, name in enumerate(candidates)
        if name in categories and np.isfinite(residuals[:, place]).all()
    ]
    names = tuple(candidates[place] for place in kept)
    labels = np.array([categories[name] for name in names], np.int64)
    missing = tuple(name for name in categories if name not in names)
    r, _ = correlation_matrix(residuals[:, kept], residuals[:, kept])
    means = pair_means(r, labels)
    if means.within is None or means.across is None:
        if means.undefined:
            raise UserError(
                f"{counted(means.undefined, 'pair')} of candidates have no correlation, because the models "
                f"do not differ in their residuals on {listed(_constant(residuals[:, kept], names), 6)}; "
                "give models or runs with different results."
            )
        raise UserError(
            f"The models have results on {counted(len(names), 'candidate')} of the categories "
            f"({listed(names, 6)}); two of one category and one of another are the minimum. Run the models "
            "on more candidates."
        )
    p = _permutation_p(r, labels, means.within - means.across, permutations, seed)
    return Validation(
        tuple(models),
        names,
        missing,
        means.within,
        means.across,
        means.pairs_within,
        means.pairs_across,
        means.undefined,
        p,
        permutations,
        tuple(_within(r, labels, category) for category in sorted(set(labels.tolist()))),
        (*warnings, *_warnings(models)),
    )


def _constant(residuals: Matrix, names: Sequence[str]) -> list[str]:
    """The candidates on which all models have the same residual."""
    return [name for name, column in zip(names, residuals.T, strict=True) if np.ptp(column) < 1e-12]


def _within(r: Matrix, labels: np.ndarray[Any, Any], category: int) -> CategoryCorrelation:
    places = np.flatnonzero(labels == category)
    means = pair_means(r[np.ix_(places, places)], labels[places])
    return CategoryCorrelation(category, means.within, means.pairs_within)


def _permutation_p(
    r: Matrix, labels: np.ndarray[Any, Any], observed: float, permutations: int, seed: int
) -> float:
    """Share of permutations with at least the observed difference; the observed order counts as one."""
    first, second = np.triu_indices(len(r), k=1)
    known = np.isfinite(r[first, second])
    first, second = first[known], second[known]
    pairs = r[first, second]
    generator = np.random.default_rng(seed)
    reached = 0
    for _ in range(permutations):
        permuted = generator.permutation(labels)
        same = permuted[first] == permuted[second]
        inside = int(same.sum())
        # Undefined pairs may leave a permutation without one of the two kinds.
        if 0 < inside < len(pairs):
            total = pairs[same].sum()
            difference = total / inside - (pairs.sum() - total) / (len(pairs) - inside)
            reached += difference >= observed - 1e-12
    return (1 + reached) / (1 + permutations)


def _warnings(models: Sequence[str]) -> list[str]:
    lines = [
        "All residuals of a model contain its clean accuracy, which alone creates correlation; compare the "
        "mean r within categories with the mean r across them, not with 0."
    ]
    if len(models) < FEW_MODELS:
        lines.append(
            f"{len(models)} models are few for a correlation over models; {FEW_MODELS} or more are better."
        )
    return lines
