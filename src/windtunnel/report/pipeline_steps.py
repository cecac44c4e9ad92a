"""Costs of replaced pipeline steps: rows for tables, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from windtunnel.metrics.not_finite import not_finite_under
from windtunnel.metrics.pipeline_steps import distinct_methods, identical_steps, step_columns
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.score import measure_run
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure
from windtunnel.stats.multiple_tests import holm
from windtunnel.stats.paired import paired_difference
from windtunnel.suites.pipeline_steps import axis_of

ALPHA = 0.05
AXIS_TITLES = {
    "decode": "decoder",
    "resize": "resizer",
    "geometry": "geometry",
    "colour": "colour handling",
    "numerics": "numerics",
}


def step_rows(run: ScoredRun) -> list[dict[str, Any]]:
    """A row per replaced step: cost, Holm-adjusted p, share of changed predictions, pixel changes.

    The costliest step comes first. Empty for a run that replaces no step or has fewer than two images.
    """
    observed = run.observed.with_unlabelled
    if not step_columns(run) or len(observed.ids) < 2:
        return []
    identical = identical_steps(run, observed)
    costs = {cost.condition: cost for cost in measure_run(run, ["step_cost"])}
    p_values = {
        step: paired_difference(_errors(cost, 1), _errors(cost, 0)).p
        for step, cost in costs.items()
        if step not in identical
    }
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    rows: list[dict[str, Any]] = []
    for flips in measure_run(run, ["step_flip_share"]):
        step, column = flips.condition, observed.column(flips.condition)
        rows.append(
            {
                "step": step,
                "axis": axis_of(step),
                **_cost_cells(costs.get(step), adjusted),
                "flips": _with_interval(flips),
                "identical": step in identical,
                "not_finite": not_finite_under(run, observed, [step]),
                "pixel_change": _finite_or_none(observed.pixel_change[:, column].mean()),
                "pixel_change_max": _finite_or_none(observed.pixel_change_max[:, column].max()),
            }
        )
    return sorted(rows, key=lambda row: (-row["cost"]["value"] if costs else 0.0, -row["flips"]["value"]))


def is_significant(row: Mapping[str, Any]) -> bool:
    """Whether a step changes accuracy significantly: 5 %, Holm-adjusted over all steps of the run."""
    return bool(row["p"] <= ALPHA)


def _cost_cells(cost: Measure | None, adjusted: Mapping[str, float]) -> dict[str, Any]:
    """Accuracy, cost and adjusted p of a step; all None if the images have no labels."""
    if cost is None:
        return {"accuracy": None, "cost": None, "p": None}
    return {
        "accuracy": 1 - _errors(cost, 0).value,
        "cost": _with_interval(cost),
        "p": adjusted.get(cost.condition, 1.0),
    }


def _errors(cost: Measure, column: int) -> Measure:
    """The errors with a step replaced (0) or under the reference (1); the cost is their difference."""
    name = cost.parts[column]
    return Measure("top1_error", name, "", (name,), cost.columns[:, [column]], groups=cost.groups)


def _with_interval(measure: Measure) -> dict[str, float]:
    low, high = measure.interval()
    return {"value": measure.value, "low": low, "high": high}


def _finite_or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def axis_rows(measures: Sequence[Measure], observed: Observed) -> list[dict[str, Any]]:
    """A row per axis: number of methods, flips, and with labels mean, std and range of accuracy."""
    rows: dict[str, dict[str, Any]] = {}
    for measure in measures:
        axis, _, quantity = measure.metric.partition("_")
        counts = {"methods": len(measure.parts), "distinct": distinct_methods(observed, measure.parts)}
        row = rows.setdefault(axis, {"axis": AXIS_TITLES[axis], **counts})
        row[quantity] = _with_interval(measure)
    return list(rows.values())


def step_verdict(rows: Sequence[dict[str, Any]], images: int) -> str:
    """The costliest steps in a few sentences; without labels, the step that changes the most predictions."""
    if rows[0]["cost"] is None:
        return _unlabelled_verdict(rows)
    if all(row["identical"] for row in rows):
        return "No step changes a pixel of any image, so none of them changes the accuracy."
    significant = [row for row in rows if is_significant(row)]
    costly = ", ".join(_points_text(row) for row in significant if row["cost"]["value"] > 0)
    better = ", ".join(_points_text(row) for row in significant if row["cost"]["value"] < 0)
    sentences = []
    if costly:
        sentences.append(f"Steps that cost accuracy significantly: {costly}.")
    if better:
        sentences.append(
            f"Steps that are significantly better than the declared ones: {better}. Run windtunnel doctor "
            "for details."
        )
    if not sentences:
        sentences.append(f"No step costs accuracy significantly on these {images:,} images.")
    widest = max(rows, key=lambda row: row["flips"]["value"] - abs(row["cost"]["value"]))
    if widest["flips"]["value"] > abs(widest["cost"]["value"]):
        sentences.append(
            f"Accuracy hides flips: {widest['step']} changes {100 * widest['flips']['value']:.1f} % of the "
            f"predictions, but accuracy by only {100 * abs(widest['cost']['value']):.1f} points."
        )
    return " ".join(sentences)


def _points_text(row: Mapping[str, Any]) -> str:
    """A step and the size of its effect on accuracy, in points."""
    return f"{row['step']} ({100 * abs(row['cost']['value']):.1f} points)"


def _unlabelled_verdict(rows: Sequence[dict[str, Any]]) -> str:
    """The step that changes the most predictions, in a few sentences."""
    if all(row["identical"] for row in rows):
        return "No step changes a pixel of any image, so none of them changes a prediction."
    unlabelled = "No image has a label, so the cost in accuracy is unknown."
    first = rows[0]
    share, low, high = (100 * first["flips"][key] for key in ("value", "low", "high"))
    if not share:
        return f"{unlabelled} No step changes a prediction."
    return (
        f"{unlabelled} {first['step']} changes the most predictions: {share:.1f} % [{low:.1f}, {high:.1f}]."
    )
