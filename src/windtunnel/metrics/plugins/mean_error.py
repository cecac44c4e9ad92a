"""Mean error over corruptions."""

from __future__ import annotations

import numpy as np

from windtunnel.core.conditions import grid_text, is_uneven
from windtunnel.core.metrics import metric
from windtunnel.core.wording import counted
from windtunnel.metrics.error import corruption_columns
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="lower", title="mean error", headline=True, needs=("labels", "corruptions"), sliceable=True)
def mean_error(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Top-1 error averaged over all corruptions and severities, not normalised."""
    columns = corruption_columns(run)
    if not columns:
        return []
    places = [(str(run.conditions[column].unit), int(run.conditions[column].level)) for column in columns]
    formula = f"top-1 error, mean over {_averaged(run, places)}; not normalised by any other model's errors"
    if run.missing:
        formula += (
            f"; {len(columns)} of {len(columns) + len(run.missing)} conditions: the others are not in the set"
        )
    parts = tuple(seen.conditions[column] for column in columns)
    wrong = seen.wrong[:, columns]
    weights = np.full(len(columns), 1 / len(columns))
    return [Measure("mean_error", "", formula, parts, wrong, weights)]


def _averaged(run: ScoredRun, places: list[tuple[str, int]]) -> str:
    """The corruptions and severities of the mean; conditions missing in a stored set are reported apart."""
    if is_uneven(places) and not run.missing:
        return f"{len(places)} conditions of equal weight ({grid_text(places)})"
    units, levels = {unit for unit, _ in places}, sorted({level for _, level in places if level})
    severities = f" and severities {', '.join(map(str, levels))}" if levels else ""
    return counted(len(units), "corruption") + severities
