"""The categories of an overlap matrix with all that is reported next to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from windtunnel.analysis.overlap.categories import (
    THRESHOLD,
    Categories,
    Variant,
    adjusted_rand_index,
    categories_of,
    variants_of,
)
from windtunnel.analysis.overlap.hierarchy import METHOD, Hierarchy, hierarchy_of
from windtunnel.analysis.overlap.row_correlations import Matrix
from windtunnel.analysis.overlap.scores import OverlapMatrix
from windtunnel.analysis.overlap.stability import Stability, stability_of
from windtunnel.analysis.overlap.validation import Validation
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent

# The paper's 40 candidates contain one operation twice, with the same range of parameters.
SAME_OPERATION = {"s2n/jpeg_compression": "s2n/image_compression"}
# Why the stability of categories is unknown.
NO_REPLICATES = "no bootstrap replicates were asked for"
ONLY_MATRIX = "only the matrix is known, not the accuracies behind it"
NOT_CLUSTERED = "no bootstrap replicate has enough candidates with defined overlaps"


@dataclass(frozen=True)
class CategoryAnalysis:
    """The categories of a study.

    Attributes:
        matrix: the overlap matrix, with undefined candidates.
        categories: K-means with the paper's stopping rule.
        left_out: candidates without a category, with the reason.
        variants: the categories under other rules.
        hierarchy: the tree of candidates.
        hierarchy_agreement: adjusted Rand index of the tree, cut into as many categories, with K-means.
        stability: the categories of bootstrap replicates; None if there are none.
        no_stability: why there are none; "" if there are.
        validation: correlations of other models' residual robustness; None if no models are given.
    """

    matrix: OverlapMatrix
    categories: Categories
    left_out: dict[str, str]
    variants: tuple[Variant, ...]
    hierarchy: Hierarchy
    hierarchy_agreement: float | None
    stability: Stability | None = None
    validation: Validation | None = None
    no_stability: str = NO_REPLICATES

    @property
    def values(self) -> Matrix:
        """The overlaps of the candidates with a category, in their order."""
        return self.part(self.matrix.values)

    def interval(self, first: str, second: str) -> tuple[float | None, float | None]:
        """The ends of the interval of an overlap; None if they are unknown."""
        row, column = self.matrix.candidates.index(first), self.matrix.candidates.index(second)
        return self.matrix.low[row][column], self.matrix.high[row][column]

    def overlap(self, first: str, second: str) -> float:
        """The overlap of two candidates."""
        row, column = self.matrix.candidates.index(first), self.matrix.candidates.index(second)
        return float(self.matrix.values[row, column])

    def part(self, values: Matrix) -> Matrix:
        """The rows and columns of matrices that belong to candidates with a category."""
        places = [self.matrix.candidates.index(name) for name in self.categories.candidates]
        return np.asarray(values[..., places, :][..., places])

    def to_json(self) -> dict[str, Any]:
        """The analysis as a JSON object."""
        return {
            "schema": 1,
            "candidates": list(self.matrix.candidates),
            "ratio": self.matrix.ratio,
            "seeds": list(self.matrix.seeds),
            "categories": self.categories.to_json(),
            "left_out": self.left_out,
            "variants": [asdict(variant) for variant in self.variants],
            "hierarchy": {
                "method": METHOD,
                "labels": list(self.hierarchy.labels),
                "order": list(self.hierarchy.order),
                "agreement": self.hierarchy_agreement,
            },
            "stability": None if self.stability is None else self.stability.to_json(),
            "validation": None if self.validation is None else self.validation.to_json(),
        }


def analyse_categories(
    matrix: OverlapMatrix,
    *,
    threshold: float = THRESHOLD,
    diagonal: bool = True,
    without: Sequence[str] = (),
    seed: int = 0,
) -> CategoryAnalysis:
    """The categories of an overlap matrix and their variants.

    Args:
        matrix: the overlaps of all candidates.
        threshold: mean r within categories that ends the search for K.
        diagonal: whether rows include the overlap of a candidate with itself, as in the paper.
        without: candidates to leave out.
        seed: seed of K-means.

    Raises:
        UserError: an unknown candidate, too few candidates, or no number of categories fits.
    """
    for name in without:
        if name not in matrix.candidates:
            raise unknown_name("candidate", name, matrix.candidates)
    left_out = {name: _why_undefined(matrix, name) for name in matrix.undefined}
    left_out |= dict.fromkeys(without, "left out by the user")
    kept = [place for place, name in enumerate(matrix.candidates) if name not in left_out]
    names = [matrix.candidates[place] for place in kept]
    values = matrix.values[np.ix_(kept, kept)]
    try:
        categories = categories_of(values, names, threshold=threshold, diagonal=diagonal, seed=seed)
    except UserError as error:
        if matrix.ratio != "raw":
            raise
        raise UserError(
            f"{error} The scores are those of plain accuracies; windtunnel overlap with "
            f"{option('ratio', 'clean')} computes the others without training again."
        ) from error
    tree = hierarchy_of(values, names, categories.k)
    return CategoryAnalysis(
        matrix,
        categories,
        left_out,
        variants_of(values, categories, duplicates_of(names)),
        tree,
        adjusted_rand_index(
            dict(zip(names, categories.labels, strict=True)), dict(zip(names, tree.labels, strict=True))
        ),
    )


def with_stability(
    analysis: CategoryAnalysis, replicates: Matrix | None, progress: Progress = silent
) -> CategoryAnalysis:
    """The analysis with the stability over replicates of its matrix, (replicates, candidates, candidates)."""
    if replicates is None:
        return replace(analysis, no_stability=ONLY_MATRIX)
    if not len(replicates):
        return replace(analysis, no_stability=NO_REPLICATES)
    found = stability_of(analysis.categories, analysis.part(replicates), progress)
    return replace(analysis, stability=found, no_stability="" if found else NOT_CLUSTERED)


def duplicates_of(candidates: Sequence[str]) -> tuple[str, ...]:
    """The candidates that are the same operation as another one."""
    return tuple(name for name in candidates if SAME_OPERATION.get(name) in candidates)


def _why_undefined(matrix: OverlapMatrix, candidate: str) -> str:
    for own in matrix.own_gains:
        if own.candidate == candidate and own.why_undefined:
            return own.why_undefined
    return "its overlaps are undefined"
