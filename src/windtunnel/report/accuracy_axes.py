"""Logit and probit axes of accuracies in plots."""

from __future__ import annotations

from typing import Any

from windtunnel.stats.accuracy_fits import Axis, on_axis

# Accuracies beyond this distance from 0 and 1 are drawn at it, because their places are unbounded.
SMALLEST_SHARE = 0.001
TICKS = (0.1, 0.5, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 99.5, 99.9)


def place(share: float, axis: Axis = "logit") -> float:
    """The position of a share on an axis; shares near 0 and 1 are drawn at the edge."""
    return float(on_axis(min(max(share, SMALLEST_SHARE), 1 - SMALLEST_SHARE), axis))


def percent_ticks(axis: Axis = "logit") -> dict[str, Any]:
    """Ticks of a Plotly axis, labelled in per cent."""
    return {
        "tickvals": [place(tick / 100, axis) for tick in TICKS],
        "ticktext": [f"{tick:g}" for tick in TICKS],
    }
