"""How a score is written: shares in per cent, how far they lie apart in points, all else in its own unit."""

from __future__ import annotations

from windtunnel.core.metric_names import DROPS, NOT_SHARES, SPREADS


def amount(value: float, metric: str) -> str:
    """A score with its unit: `61.0 %`, `1.357 ranks`."""
    return f"{number(value, metric)} {unit(metric)}".strip()


def number(value: float, metric: str) -> str:
    """The same without its unit: `61.0`, `1.357`."""
    return f"{scale(metric) * value:.{decimals(metric)}f}"


def change(value: float, metric: str) -> str:
    """A difference of two scores, signed and without its unit: `+1.3`, `-0.012`."""
    return f"{scale(metric) * value:+.{decimals(metric)}f}"


def unit(metric: str) -> str:
    """What a score is measured in."""
    apart = metric in DROPS or metric.endswith(SPREADS)
    return "points" if apart else NOT_SHARES.get(metric, "%")


def scale(metric: str) -> int:
    """By what a stored score is multiplied to be shown."""
    return 1 if metric in NOT_SHARES else 100


def decimals(metric: str) -> int:
    """How many decimals a score is shown with."""
    # Published standard deviations over decoders are some thousandths of a point.
    return 1 if metric in DROPS else {"%": 1, "ranks": 3, "points": 3}.get(unit(metric), 4)
