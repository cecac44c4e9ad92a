"""Residual robustness."""

from __future__ import annotations

import numpy as np

from windtunnel.core.metrics import metric
from windtunnel.metrics.clean_comparison import why_no_clean
from windtunnel.metrics.error import corruption_columns
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="lower", needs=("labels", "corruptions"), sliceable=True, why_missing=why_no_clean)
def residual_robustness(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Clean accuracy minus accuracy under every corrupted condition, and the mean of these differences."""
    columns = corruption_columns(run)
    if "clean" not in seen.conditions or not columns or len(seen.ids) < 2:
        return []
    wrong = seen.wrong
    clean = seen.column("clean")
    formula = "accuracy on clean minus accuracy under the condition (top-1)"
    measures = [
        Measure(
            "residual_robustness",
            seen.conditions[column],
            formula,
            (seen.conditions[column], "clean"),
            wrong[:, [column, clean]],
            np.array([1.0, -1.0]),
            limits=(-1, 1),
        )
        for column in columns
    ]
    return [
        *measures,
        Measure(
            "residual_robustness",
            "",
            f"{formula}; mean over {len(columns)} corrupted conditions",
            (*(seen.conditions[column] for column in columns), "clean"),
            wrong[:, [*columns, clean]],
            np.array([*[1 / len(columns)] * len(columns), -1.0]),
            limits=(-1, 1),
        ),
    ]
