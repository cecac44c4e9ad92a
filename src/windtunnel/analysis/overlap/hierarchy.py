"""Hierarchical clustering of candidates, as a second opinion on the categories.

The distance of two candidates is 1 - overlap, 0 for an overlap above 1. With average linkage, two groups
merge at 1 minus the mean overlap between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import dendrogram, fcluster, leaves_list, linkage
from scipy.spatial.distance import squareform

from windtunnel.analysis.overlap.row_correlations import Matrix

METHOD = "average linkage on 1 - overlap"


@dataclass(frozen=True)
class Hierarchy:
    """A tree of candidates.

    Attributes:
        candidates: the candidates, in the order of the matrix.
        order: the candidates in the order of the leaves.
        labels: their categories, in the order of `candidates`, if the tree is cut into as many as K-means.
        lines: the U-shaped lines of the dendrogram, each with four positions along the leaves and four
            distances; the leaf with number n is at position n.
    """

    candidates: tuple[str, ...]
    order: tuple[str, ...]
    labels: tuple[int, ...]
    lines: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]


def hierarchy_of(matrix: Matrix, candidates: Sequence[str], k: int) -> Hierarchy:
    """The tree of candidates by average linkage, cut into at most `k` categories."""
    distances = np.maximum(0.0, 1.0 - (matrix + matrix.T) / 2)
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(distances, checks=False), method="average")
    drawn = dendrogram(tree, no_plot=True)
    # SciPy's leaves are at 5, 15, 25 ...
    lines = tuple(
        (tuple((x - 5) / 10 for x in across), tuple(map(float, up)))
        for across, up in zip(drawn["icoord"], drawn["dcoord"], strict=True)
    )
    return Hierarchy(
        tuple(candidates),
        tuple(candidates[leaf] for leaf in leaves_list(tree).tolist()),
        tuple(int(label) for label in fcluster(tree, k, criterion="maxclust")),
        lines,
    )
