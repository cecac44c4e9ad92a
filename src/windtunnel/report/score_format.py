"""How a score is written: shares in per cent, how far they lie apart in points, all else in its own unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windtunnel.core.metrics import unit_of


def amount(value: float, metric: str) -> str:
    """A score with its unit: `61.0 %`, `1.357 ranks`."""
    return f"{number(value, metric)} {unit(metric)}".strip()


def number(value: float, metric: str) -> str:
    """The same without its unit: `61.0`, `1.357`."""
    return f"{scale(metric) * value:.{decimals(metric)}f}"


def change(value: float, metric: str) -> str:
    """A difference of two scores, signed and without its unit: `+1.3`, `-0.012`."""
    return f"{scale(metric) * value:+.{decimals(metric)}f}"


def score_cells(score: Mapping[str, Any]) -> list[str]:
    """A score of a document in the cells of a table: value with unit, interval, n."""
    metric = score["metric"]
    interval = f"{number(score['low'], metric)} to {number(score['high'], metric)}"
    return [amount(score["value"], metric), interval, f"{score['n']:,}"]


def unit(metric: str) -> str:
    """What a score is measured in."""
    return unit_of(metric).name


def scale(metric: str) -> int:
    """By what a stored score is multiplied to be shown."""
    return unit_of(metric).scale


def decimals(metric: str) -> int:
    """How many decimals a score is shown with."""
    return unit_of(metric).decimals
