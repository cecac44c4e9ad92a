"""Corruption error."""

from __future__ import annotations

from windtunnel.core.metrics import metric
from windtunnel.metrics.baseline import ratios
from windtunnel.metrics.corruption_error import (
    BASELINE,
    alexnet_errors,
    misfit,
    weighted_errors,
    whole_units,
    why_not_normalised,
)
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="lower",
    title="CE",
    needs=("labels", "corruptions", "normaliser"),
    why_missing=why_not_normalised,
)
def ce(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Corruption error of every corruption, normalised by a baseline run or by AlexNet's published errors."""
    if run.baseline:
        return ratios(run, run.baseline, "ce", whole_units(run))
    if misfit(run):
        return []
    formula = f"sum of top-1 errors over severities 1 to 5, divided by the same sum of {BASELINE}"
    return [
        weighted_errors(run, seen, "ce", unit, {unit: 1 / sum(alexnet_errors()[unit])}, formula)
        for unit in whole_units(run)
    ]
