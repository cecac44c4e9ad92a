"""Ranks of several models, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.stats.bootstrap import REPLICATES, replicated_means
from windtunnel.stats.intervals import CONFIDENCE

if TYPE_CHECKING:
    from windtunnel.stats.measure import Measure


@dataclass(frozen=True)
class Rank:
    """A model's rank, 1 for the best, and its range in 95 % of bootstrap replicates."""

    rank: int
    low: int
    high: int


def rank_models(
    measures: Sequence[Measure],
    *,
    lower_is_better: bool = True,
    seed: int = 0,
    replicates: int = REPLICATES,
    confidence: float = CONFIDENCE,
) -> list[Rank]:
    """Rank models by one score on the same images; every replicate draws the same images for all models.

    A model's rank is 1 + the number of models strictly better than it; in a replicate ties take the range
    of ranks they share.
    """
    sign = 1.0 if lower_is_better else -1.0
    widths = np.cumsum([0, *(measure.columns.shape[1] for measure in measures)])
    together = np.hstack([measure.columns for measure in measures]).astype(np.float64)
    drawn = [
        np.stack(
            [
                measure.of_means(means[:, start:stop])
                for measure, start, stop in zip(measures, widths, widths[1:], strict=False)
            ],
            axis=1,
        )
        for means in replicated_means(together, groups=measures[0].groups, seed=seed, replicates=replicates)
    ]
    first, last = places(sign * np.concatenate(drawn))
    now, _ = places(sign * np.array([[measure.value for measure in measures]]))
    tail = (1 - confidence) / 2
    low = np.quantile(first, tail, axis=0, method="lower")
    high = np.quantile(last, 1 - tail, axis=0, method="higher")
    return [
        Rank(int(rank), int(min(below, rank)), int(max(above, rank)))
        for rank, below, above in zip(now[0], low, high, strict=True)
    ]


def places(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The best and the worst rank of every column in every row, lowest value first; ties share a range."""
    mine, others = values[:, :, None], values[:, None, :]
    return 1 + (others < mine).sum(axis=2), (others <= mine).sum(axis=2)
