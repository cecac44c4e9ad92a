"""Relative corruption error."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.baseline import ratios
from windtunnel.metrics.corruption_error import (
    BASELINE,
    less_clean,
    misfit,
    relative_weights,
    weighted_errors,
    whole_units,
    why_no_relative,
)
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="lower",
    title="relative CE",
    needs=("labels", "corruptions", "normaliser"),
    why_missing=why_no_relative,
)
def relative_ce(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Corruption error of every corruption, with the clean error subtracted on both sides of the ratio."""
    if run.baseline:
        return ratios(run, run.baseline, "relative_ce", whole_units(run))
    if misfit(run) or len(seen.ids) < 2 or "clean" not in seen.conditions:
        return []
    formula = (
        "sum over severities of (top-1 error - clean error), divided by the same sum of "
        f"{BASELINE}, AlexNet clean 43.5 %"
    )
    return [
        less_clean(seen, weighted_errors(run, seen, "relative_ce", unit, relative_weights([unit]), formula))
        for unit in whole_units(run)
    ]
