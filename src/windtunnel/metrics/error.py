"""Error rates from the rank of the label: 0 is right, 4 still counts among the top five."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.conditions import grid_text, is_uneven
from windtunnel.core.wording import counted
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.stats.measure import Measure

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun


def top_k_wrong(label_rank: NDArray[np.int32], k: int) -> NDArray[np.bool_]:
    """True where none of an image's labels is among the k best-placed classes: rank >= k."""
    return label_rank >= k


def top1_error(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Top-1 error of every condition."""
    return _errors(run, seen, 1, "share of images whose label is not the best-placed class")


def top5_error(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Top-5 error of every condition, where more than five classes compete."""
    return _errors(run, seen, 5, "share of images whose label is not among the five best-placed classes")


def _errors(run: ScoredRun, seen: Observed, k: int, formula: str) -> list[Measure]:
    if run.recipe.counted_classes <= k:
        return []
    if run.recipe.model.top_k is not None and run.recipe.model.top_k < k:
        return []
    wrong = top_k_wrong(seen.rank, k)
    return [
        Measure(f"top{k}_error", name, formula, (name,), wrong[:, [column]])
        for column, name in enumerate(seen.conditions)
    ]


def mean_error(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Top-1 error averaged over every corruption and severity: not divided by anybody's."""
    columns = corruption_columns(run)
    if not columns:
        return []
    places = [(run.conditions[column].unit, run.conditions[column].level) for column in columns]
    formula = f"top-1 error, mean over {_averaged(run, places)}; not normalised by any other model's errors"
    if run.missing:
        formula += f"; {len(columns)} of {len(columns) + len(run.missing)} conditions: the set lacks the rest"
    parts = tuple(seen.conditions[column] for column in columns)
    wrong = top_k_wrong(seen.rank[:, columns], 1)
    weights = np.full(len(columns), 1 / len(columns))
    return [Measure("mean_error", "", formula, parts, wrong, weights)]


def _averaged(run: ScoredRun, places: list[tuple[str, int]]) -> str:
    """Which corruptions and severities a mean is over; what a stored set lacks is reported apart."""
    if is_uneven(places) and not run.missing:
        return f"{len(places)} conditions of equal weight ({grid_text(places)})"
    units, levels = {unit for unit, _ in places}, sorted({level for _, level in places})
    return f"{counted(len(units), 'corruption')} and severities {', '.join(map(str, levels))}"


def weighted_error(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Top-1 error averaged by the suite's own weights of corruptions; none where it gives no weights."""
    columns = [column for column in corruption_columns(run) if run.conditions[column].unit in run.weights]
    if not columns:
        return []
    units = [run.conditions[column].unit for column in columns]
    whole = sum(run.weights[unit] for unit in set(units))
    shown = ", ".join(f"{unit} {weight:g}" for unit, weight in run.weights.items())
    formula = (
        f"top-1 error of each corruption, mean over its severities, weighted {shown} and divided by "
        f"{whole:g}; corruptions without a weight do not count"
    )
    weights = np.array([run.weights[unit] / whole / units.count(unit) for unit in units])
    parts = tuple(seen.conditions[column] for column in columns)
    wrong = top_k_wrong(seen.rank[:, columns], 1)
    return [Measure("weighted_error", "", formula, parts, wrong, weights)]


def corruption_columns(run: ScoredRun) -> list[int]:
    """Which conditions are corruptions."""
    return [column for column, condition in enumerate(run.conditions) if condition.kind == "corruption"]
