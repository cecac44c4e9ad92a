"""Mean error over the corruptions of a family."""

from __future__ import annotations

import numpy as np

from windtunnel.core.conditions import grid_text
from windtunnel.core.metrics import metric
from windtunnel.core.wording import counted
from windtunnel.metrics.families import columns_by_family, why_no_families
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(
    direction="lower",
    title="error by family",
    needs=("labels", "corruptions"),
    accompanies=("mean_error",),
    why_missing=why_no_families,
)
def family_error(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Top-1 error of every family of corruptions (noise, blur, weather, digital), mean over its conditions.

    Conditions have equal weights, as in the mean error.
    """
    found = []
    for family, columns in columns_by_family(run).items():
        places = [(run.conditions[column].unit, run.conditions[column].level) for column in columns]
        averaged = counted(len(columns), "condition")
        formula = f"top-1 error, mean over {averaged} of equal weight ({grid_text(places)})"
        parts = tuple(seen.conditions[column] for column in columns)
        weights = np.full(len(columns), 1 / len(columns))
        found.append(Measure("family_error", family, formula, parts, seen.wrong[:, columns], weights))
    return found
