"""Top-k error rates from the rank of the label: 0 is the predicted class, 4 is still in the top five."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.metrics import Missing
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.stats.measure import Measure

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun


def top_k_wrong(label_rank: NDArray[np.int32], k: int) -> NDArray[np.bool_]:
    """True where none of an image's labels is among the top k classes: rank >= k."""
    return label_rank >= k


def condition_errors(run: ScoredRun, seen: Observed, k: int, formula: str) -> list[Measure]:
    """Top-k error of every condition; empty if k or fewer classes compete."""
    if competing_classes(run) <= k:
        return []
    if run.recipe.model.top_k is not None and run.recipe.model.top_k < k:
        return []
    wrong = top_k_wrong(seen.rank, k)
    return [
        Measure(f"top{k}_error", name, formula, (name,), wrong[:, [column]])
        for column, name in enumerate(seen.conditions)
    ]


def competing_classes(run: ScoredRun) -> int:
    """Number of the model's classes that can be predicted."""
    return len(run.recipe.projection.kept) or int(run.recipe.model.classes)


def too_few_classes(run: ScoredRun) -> Missing | None:
    """Why a run has no top-5 error."""
    classes = competing_classes(run)
    return Missing(f"only {classes} classes compete", "use the top-1 error") if classes <= 5 else None


def corruption_columns(run: ScoredRun) -> list[int]:
    """Columns of the conditions that are corruptions."""
    return [column for column, condition in enumerate(run.conditions) if condition.is_corruption]
