"""What each swapped step of the deployment pipeline costs, in numbers and in a sentence."""

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
from windtunnel.stats.paired import holm, paired_difference
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
    """Every swapped step: its cost, p adjusted over all steps (Holm), answers and pixels that change.

    The costliest step comes first; none of a run that swaps no step, or has fewer than two images.
    """
    seen = run.observed.with_unlabelled
    if not step_columns(run) or len(seen.ids) < 2:
        return []
    same = identical_steps(run, seen)
    costs = {one.condition: one for one in measure_run(run, ["step_cost"])}
    mean, largest = seen.pixel_change, seen.pixel_change_max
    p_values = {
        step: paired_difference(_share(one, 1), _share(one, 0)).p
        for step, one in costs.items()
        if step not in same
    }
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    rows: list[dict[str, Any]] = [
        {
            "step": one.condition,
            "axis": axis_of(one.condition),
            **_judged(costs.get(one.condition), adjusted),
            "flips": _with_interval(one),
            "identical": one.condition in same,
            "not_finite": not_finite_under(run, seen, [one.condition]),
            "pixel_change": _number(mean[:, seen.column(one.condition)].mean()),
            "pixel_change_max": _number(largest[:, seen.column(one.condition)].max()),
        }
        for one in measure_run(run, ["step_flip_share"])
    ]
    return sorted(rows, key=lambda row: (-row["cost"]["value"] if costs else 0.0, -row["flips"]["value"]))


def certain(row: Mapping[str, Any]) -> bool:
    """Whether a step changes accuracy at 5 %, adjusted over all steps of the run."""
    return bool(row["p"] <= ALPHA)


def _judged(cost: Measure | None, adjusted: Mapping[str, float]) -> dict[str, Any]:
    """What labels say of a step: accuracy, cost and p; None each where there are none."""
    if cost is None:
        return {"accuracy": None, "cost": None, "p": None}
    return {
        "accuracy": 1 - _share(cost, 0).value,
        "cost": _with_interval(cost),
        "p": adjusted.get(cost.condition, 1.0),
    }


def _share(cost: Measure, column: int) -> Measure:
    """The errors after a step (0) or before it (1), which its cost is the difference of."""
    name = cost.parts[column]
    return Measure("top1_error", name, "", (name,), cost.columns[:, [column]], groups=cost.groups)


def _with_interval(measure: Measure) -> dict[str, float]:
    low, high = measure.interval()
    return {"value": measure.value, "low": low, "high": high}


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def axis_rows(measures: Sequence[Measure], seen: Observed) -> list[dict[str, Any]]:
    """One row per axis: how many methods, flips, and with labels mean, scatter and range of accuracy."""
    found: dict[str, dict[str, Any]] = {}
    for one in measures:
        axis, _, what = one.metric.partition("_")
        counts = {"methods": len(one.parts), "distinct": distinct_methods(seen, one.parts)}
        row = found.setdefault(axis, {"axis": AXIS_TITLES[axis], **counts})
        row[what] = _with_interval(one)
    return list(found.values())


def step_verdict(rows: Sequence[dict[str, Any]], images: int) -> str:
    """Which step costs most, in a sentence or two; without labels, which changes most answers."""
    if rows[0]["cost"] is None:
        return _unlabelled_answer(rows)
    sure = [row for row in rows if certain(row) and row["cost"]["value"] > 0]
    gains = [row for row in rows if certain(row) and row["cost"]["value"] < 0]
    parts = []
    if sure:
        shown = ", ".join(f"{row['step']} ({100 * row['cost']['value']:.1f} points)" for row in sure)
        parts.append(f"Surely costly: {shown}.")
    if gains:
        shown = ", ".join(f"{row['step']} ({-100 * row['cost']['value']:.1f} points)" for row in gains)
        parts.append(f"Surely better than what is declared: {shown}; windtunnel doctor says more.")
    if all(row["identical"] for row in rows):
        return "No step changes a pixel of any image: none of them can cost anything here."
    if not parts:
        parts.append(f"No step surely costs accuracy: {images:,} images cannot tell these from chance.")
    widest = max(rows, key=lambda row: row["flips"]["value"] - abs(row["cost"]["value"]))
    if widest["flips"]["value"] > abs(widest["cost"]["value"]):
        parts.append(
            f"Accuracy hides flips: {widest['step']} changes {100 * widest['flips']['value']:.1f} % of the "
            f"answers and {100 * abs(widest['cost']['value']):.1f} points of accuracy."
        )
    return " ".join(parts)


def _unlabelled_answer(rows: Sequence[dict[str, Any]]) -> str:
    """Which step changes most answers, in a sentence or two."""
    if all(row["identical"] for row in rows):
        return "No step changes a pixel of any image: none of them can change an answer here."
    parts = ["No image has a label: what a step costs in accuracy cannot be said."]
    first = rows[0]
    share, low, high = (100 * first["flips"][key] for key in ("value", "low", "high"))
    if share:
        parts.append(f"{first['step']} changes most answers: {share:.1f} % [{low:.1f}, {high:.1f}].")
    else:
        parts.append("No step changes an answer.")
    return " ".join(parts)
