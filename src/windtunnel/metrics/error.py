"""Error rates from whether the label is among the top k classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.stats.measure import Measure

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun


def condition_errors(seen: Observed, k: int, formula: str) -> list[Measure]:
    """Top-k error of every condition."""
    wrong = seen.top_k_wrong(k)
    return [
        Measure(f"top{k}_error", name, formula, (name,), wrong[:, [column]])
        for column, name in enumerate(seen.conditions)
    ]


def corruption_columns(run: ScoredRun) -> list[int]:
    """Columns of the conditions that are corruptions."""
    return [column for column, condition in enumerate(run.conditions) if condition.is_corruption]
