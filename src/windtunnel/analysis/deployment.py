"""The deployment check: what each replaced pipeline step costs in accuracy, with paired tests.

The p-values are adjusted over all steps that change pixels (Holm).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from windtunnel.metrics.not_finite import not_finite_under
from windtunnel.metrics.pipeline_steps import distinct_methods, identical_steps, step_columns
from windtunnel.metrics.score import measure_run
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure
from windtunnel.stats.multiple_tests import SIGNIFICANT, holm
from windtunnel.stats.paired import paired_difference
from windtunnel.suites.pipeline_steps import axis_of


@dataclass(frozen=True)
class Interval:
    """A fraction with its 95 % confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class StepCost:
    """The accuracy that a step costs.

    Attributes:
        accuracy: top-1 accuracy with the step replaced.
        difference: accuracy under the reference - accuracy with the step replaced.
        p: p-value, Holm-adjusted over all steps of the run; 1 for a step that changes no pixel.
    """

    accuracy: float
    difference: Interval
    p: float

    @property
    def is_significant(self) -> bool:
        """Whether the step changes accuracy significantly."""
        return self.p <= SIGNIFICANT


@dataclass(frozen=True)
class ReplacedStep:
    """The effects of a replaced step.

    Attributes:
        step: the step as `axis=value`.
        axis: its axis.
        cost: the accuracy that it costs; None if no image has a label.
        flips: share of predictions that change.
        identical: whether it changes no pixel of any image.
        not_finite: number of images without a finite prediction.
        pixel_change, pixel_change_max: mean and largest change in grey levels; None if the size changes.
    """

    step: str
    axis: str
    cost: StepCost | None
    flips: Interval
    identical: bool
    not_finite: int
    pixel_change: float | None
    pixel_change_max: float | None


@dataclass(frozen=True)
class AxisSpread:
    """The spread over the methods of an axis.

    Attributes:
        axis: the axis.
        methods: number of methods, including the reference.
        distinct: number of methods that differ in a pixel.
        spreads: by name, `flip_share`, and with labels `mean_accuracy`, `accuracy_std`,
            `accuracy_std_corrected` and `accuracy_range`.
    """

    axis: str
    methods: int
    distinct: int
    spreads: Mapping[str, Interval]


def replaced_steps(run: ScoredRun) -> list[ReplacedStep]:
    """Every replaced step of a run, the costliest first.

    Without labels, the step that changes the most predictions comes first. Empty for a run that replaces no
    step or has fewer than two images.
    """
    observed = run.observed.with_unlabelled
    if not step_columns(run) or len(observed.ids) < 2:
        return []
    identical = identical_steps(run, observed)
    costs = _costs(run, identical)
    steps = []
    for flips in measure_run(run, ["step_flip_share"]):
        step, column = flips.condition, observed.column(flips.condition)
        steps.append(
            ReplacedStep(
                step=step,
                axis=axis_of(step),
                cost=costs.get(step),
                flips=_with_interval(flips),
                identical=step in identical,
                not_finite=not_finite_under(run, observed, [step]),
                pixel_change=_finite_or_none(observed.pixel_change[:, column].mean()),
                pixel_change_max=_finite_or_none(observed.pixel_change_max[:, column].max()),
            )
        )
    return sorted(steps, key=_costliest_first)


def axis_spreads(run: ScoredRun) -> list[AxisSpread]:
    """The spread over the methods of every axis of which a step is replaced."""
    observed = run.observed.with_unlabelled
    parts: dict[str, tuple[str, ...]] = {}
    spreads: dict[str, dict[str, Interval]] = {}
    for measure in measure_run(run, ["axis_accuracy"]):
        axis, _, quantity = measure.metric.partition("_")
        parts.setdefault(axis, measure.parts)
        spreads.setdefault(axis, {})[quantity] = _with_interval(measure)
    return [
        AxisSpread(axis, len(parts[axis]), distinct_methods(run, observed, parts[axis]), spreads[axis])
        for axis in spreads
    ]


def _costs(run: ScoredRun, identical: set[str]) -> dict[str, StepCost]:
    """The cost of every step; empty if no image has a label."""
    measures = {cost.condition: cost for cost in measure_run(run, ["step_cost"])}
    p_values = {
        step: paired_difference(_errors(cost, 1), _errors(cost, 0)).p
        for step, cost in measures.items()
        if step not in identical
    }
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    return {
        step: StepCost(1 - _errors(cost, 0).value, _with_interval(cost), adjusted.get(step, 1.0))
        for step, cost in measures.items()
    }


def _costliest_first(step: ReplacedStep) -> tuple[float, float]:
    return -step.cost.difference.value if step.cost else 0.0, -step.flips.value


def _errors(cost: Measure, column: int) -> Measure:
    """The errors with a step replaced (0) or under the reference (1); the cost is their difference."""
    name = cost.parts[column]
    return Measure("top1_error", name, "", (name,), cost.columns[:, [column]], groups=cost.groups)


def _with_interval(measure: Measure) -> Interval:
    return Interval(measure.value, *measure.interval())


def _finite_or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
