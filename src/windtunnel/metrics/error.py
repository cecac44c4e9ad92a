"""Error rates from the rank of the label: 0 is right, 4 still counts among the top five."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.metrics.score import Ranks, Score
from windtunnel.stats.intervals import clustered_share, wilson

if TYPE_CHECKING:
    from windtunnel.store.run import Run


def top_k_wrong(label_rank: NDArray[np.int32], k: int) -> NDArray[np.bool_]:
    """True where none of a picture's labels is among the k best-placed classes: rank >= k."""
    return label_rank >= k


def mean_per_picture(wrong: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Share of conditions (columns) under which each picture (row) is wrong."""
    return np.asarray(wrong.mean(axis=1), np.float64)


def top1_scores(run: Run, ranks: Ranks) -> list[Score]:
    """Top-1 error of every condition."""
    return _error_scores(run, ranks, 1, "share of pictures whose label is not the best-placed class")


def top5_scores(run: Run, ranks: Ranks) -> list[Score]:
    """Top-5 error of every condition, where more than five classes compete."""
    return _error_scores(
        run, ranks, 5, "share of pictures whose label is not among the five best-placed classes"
    )


def _error_scores(run: Run, ranks: Ranks, k: int, formula: str) -> list[Score]:
    if (len(run.recipe["projection"]["kept"]) or int(run.recipe["model"]["classes"])) <= k:
        return []
    wrong = top_k_wrong(ranks.values, k)
    n = len(wrong)
    found = []
    for column, condition in enumerate(ranks.conditions):
        count = int(wrong[:, column].sum())
        interval = wilson(count, n)
        found.append(
            Score(f"top{k}_error", condition, count / n, *interval, n, formula, (condition,), run.digest)
        )
    return found


def mean_error_scores(run: Run, ranks: Ranks) -> list[Score]:
    """Top-1 error averaged over every corruption and severity: not divided by anybody's."""
    columns = corruption_columns(run)
    if not columns:
        return []
    per_picture = mean_per_picture(top_k_wrong(ranks.values[:, columns], 1))
    parts = tuple(ranks.conditions[column] for column in columns)
    units = {str(run.conditions[column]["unit"]) for column in columns}
    levels = sorted({int(run.conditions[column]["level"]) for column in columns})
    formula = (
        f"top-1 error, mean over {len(units)} corruptions and severities {', '.join(map(str, levels))}; "
        "not normalised by any other model's errors"
    )
    if run.missing:
        formula += f"; {len(columns)} of {len(columns) + len(run.missing)} conditions: the set lacks the rest"
    interval = clustered_share(per_picture, len(columns))
    value = float(per_picture.mean())
    return [Score("mean_error", "", value, *interval, len(per_picture), formula, parts, run.digest)]


def corruption_columns(run: Run) -> list[int]:
    """Which conditions are corruptions."""
    return [column for column, condition in enumerate(run.conditions) if condition["kind"] == "corruption"]
