"""Formatting of scores: shares in per cent, their differences in points, other scores in their own unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windtunnel.core.metrics import metric_of, unit_of


def amount(value: float, metric: str) -> str:
    """A score with its unit: `61.0 %`, `1.357 ranks`."""
    return f"{number(value, metric)} {unit(metric)}".strip()


def number(value: float, metric: str) -> str:
    """A score without its unit: `61.0`, `1.357`."""
    return f"{scale(metric) * value:.{decimals(metric)}f}"


def signed_number(value: float, metric: str) -> str:
    """A difference of two scores, signed and without its unit: `+1.3`, `-0.012`."""
    return f"{scale(metric) * value:+.{decimals(metric)}f}"


def score_cells(score: Mapping[str, Any]) -> list[str]:
    """Table cells of a score: value with unit, interval, n."""
    metric = score["metric"]
    interval = f"{number(score['low'], metric)} to {number(score['high'], metric)}"
    return [amount(score["value"], metric), interval, f"{score['n']:,}"]


def unit(metric: str) -> str:
    """The unit of a metric's scores, such as `%`."""
    return unit_of(metric).name


def scale(metric: str) -> int:
    """The factor from a stored score to the displayed one."""
    return unit_of(metric).scale


def decimals(metric: str) -> int:
    """The number of decimals that a score is displayed with."""
    return unit_of(metric).decimals


def direction_text(metric: str) -> str:
    """`lower is better` or `higher is better`; "" for scores without a direction."""
    declared = metric_of(metric)
    return f"{declared.direction} is better" if declared and declared.direction != "none" else ""
