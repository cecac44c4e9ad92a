"""Replaced pipeline steps: their rows in scores.json, and a verdict in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from windtunnel.analysis.deployment import AxisSpread, ReplacedStep, StepCost
from windtunnel.core.conditions import NUMERICS

AXIS_TITLES = {
    "decode": "decoder",
    "resize": "resizer",
    "geometry": "geometry",
    "colour": "colour handling",
    NUMERICS: "numerics",
}


def step_row(step: ReplacedStep) -> dict[str, Any]:
    """A replaced step as scores.json stores it: accuracy, cost and p are null if no image has a label."""
    cost = step.cost
    return {
        "step": step.step,
        "axis": step.axis,
        "accuracy": cost.accuracy if cost else None,
        "cost": asdict(cost.difference) if cost else None,
        "p": cost.p if cost else None,
        "flips": asdict(step.flips),
        "identical": step.identical,
        "not_finite": step.not_finite,
        "pixel_change": step.pixel_change,
        "pixel_change_max": step.pixel_change_max,
    }


def axis_row(axis: AxisSpread) -> dict[str, Any]:
    """The spread over an axis as scores.json stores it."""
    spreads = {name: asdict(interval) for name, interval in axis.spreads.items()}
    return {
        "axis": AXIS_TITLES[axis.axis],
        "methods": axis.methods,
        "distinct": axis.distinct,
        **spreads,
    }


def step_verdict(steps: Sequence[ReplacedStep], images: int) -> str:
    """The costliest steps in a few sentences; without labels, the step that changes the most predictions."""
    costs = [(step, step.cost) for step in steps if step.cost]
    if not costs:
        return _unlabelled_verdict(steps)
    if all(step.identical for step in steps):
        return "No step changes a pixel of any image, so none of them changes the accuracy."
    significant = [(step, cost) for step, cost in costs if cost.is_significant]
    costly = ", ".join(_points_text(step, cost) for step, cost in significant if cost.difference.value > 0)
    better = ", ".join(_points_text(step, cost) for step, cost in significant if cost.difference.value < 0)
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
    hidden = [(step, step.flips.value, abs(cost.difference.value)) for step, cost in costs]
    widest, flips, change = max(hidden, key=lambda each: each[1] - each[2])
    if flips > change:
        sentences.append(
            f"Accuracy hides flips: {widest.step} changes {100 * flips:.1f} % of the predictions, but "
            f"accuracy by only {100 * change:.1f} points."
        )
    return " ".join(sentences)


def _points_text(step: ReplacedStep, cost: StepCost) -> str:
    """A step and the size of its effect on accuracy, in points."""
    return f"{step.step} ({100 * abs(cost.difference.value):.1f} points)"


def _unlabelled_verdict(steps: Sequence[ReplacedStep]) -> str:
    """The step that changes the most predictions, in a few sentences."""
    if all(step.identical for step in steps):
        return "No step changes a pixel of any image, so none of them changes a prediction."
    unlabelled = "No image has a label, so the cost in accuracy is unknown."
    first = steps[0]
    share, low, high = 100 * first.flips.value, 100 * first.flips.low, 100 * first.flips.high
    if not share:
        return f"{unlabelled} No step changes a prediction."
    return f"{unlabelled} {first.step} changes the most predictions: {share:.1f} % [{low:.1f}, {high:.1f}]."
