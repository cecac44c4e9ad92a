"""Accuracy lost by swapping a pipeline step."""

from __future__ import annotations

import numpy as np

from windtunnel.core.metrics import metric
from windtunnel.metrics.pipeline_steps import identical_steps, reference_of, step_columns, step_note
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="lower", needs=("labels", "pipeline steps"))
def step_cost(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Accuracy of the reference pipeline minus accuracy with one step swapped, for every step."""
    same, before = identical_steps(run, seen), reference_of(seen)
    wrong = seen.wrong
    formula = f"accuracy under {before} minus accuracy with this step swapped (top-1)"
    return [
        Measure(
            "step_cost",
            name,
            formula + step_note(name, same),
            (name, before),
            wrong[:, [column, seen.column(before)]],
            np.array([1.0, -1.0]),
            # Identical pixels have identical predictions: the cost is exactly 0.
            limits=(0.0, 0.0) if name in same else (-1.0, 1.0),
        )
        for column in step_columns(run)
        for name in [seen.conditions[column]]
    ]
