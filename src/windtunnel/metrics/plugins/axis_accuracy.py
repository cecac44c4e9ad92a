"""Spread of accuracy over the methods of a pipeline step."""

from __future__ import annotations

from windtunnel.core.metrics import ScoreUnit, metric
from windtunnel.metrics.pipeline_steps import (
    accuracy_of_axis,
    distinct_methods,
    flips_of_axis,
    reference_of,
    step_columns,
)
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure
from windtunnel.suites.pipeline_steps import axis_of

# Published standard deviations over decoders are a few thousandths of a point.
SPREAD = ScoreUnit("points", decimals=3)


@metric(
    direction="none",
    needs=("pipeline steps",),
    derived=dict.fromkeys(("_accuracy_std", "_accuracy_std_corrected", "_accuracy_range"), SPREAD),
)
def axis_accuracy(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Mean, sample standard deviation and range of accuracy over each pipeline axis, and the share of flips.

    Without labels, only the share of flips.
    """
    labelled, seen = bool(len(seen.ids)), seen.with_unlabelled
    before = reference_of(seen)
    right = ~seen.wrong
    axes: dict[str, list[int]] = {}
    for column in step_columns(run):
        axes.setdefault(axis_of(seen.conditions[column]), [seen.column(before)]).append(column)
    measures: list[Measure] = []
    for axis, columns in axes.items():
        parts = tuple(seen.conditions[column] for column in columns)
        distinct = distinct_methods(run, seen, parts)
        if labelled:
            measures += accuracy_of_axis(axis, parts, distinct, right[:, columns], run.groups)
        measures.append(flips_of_axis(axis, parts, distinct, seen.chosen[:, columns]))
    return measures
