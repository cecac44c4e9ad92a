"""Error weighted by the suite."""

from __future__ import annotations

import numpy as np

from windtunnel.core.metrics import metric
from windtunnel.metrics.error import corruption_columns
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="lower",
    title="weighted error",
    headline=True,
    needs=("labels", "corruptions", "weights"),
    sliceable=True,
)
def weighted_error(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Top-1 error averaged over corruptions with the weights that the suite gives them."""
    columns = [column for column in corruption_columns(run) if run.conditions[column].unit in run.weights]
    if not columns:
        return []
    units = [str(run.conditions[column].unit) for column in columns]
    whole = sum(run.weights[unit] for unit in set(units))
    shown = ", ".join(f"{unit} {weight:g}" for unit, weight in run.weights.items())
    formula = (
        f"top-1 error of each corruption, mean over its severities, weighted {shown} and divided by "
        f"{whole:g}; corruptions without a weight are omitted"
    )
    weights = np.array([run.weights[unit] / whole / units.count(unit) for unit in units])
    parts = tuple(seen.conditions[column] for column in columns)
    wrong = seen.wrong[:, columns]
    return [Measure("weighted_error", "", formula, parts, wrong, weights)]
