"""How a score is written: shares in per cent and points, everything else in its own unit."""

from __future__ import annotations

from windtunnel.metrics.names import NOT_SHARES


def amount(value: float, metric: str) -> str:
    """A score with its unit: `61.0 %`, `1.357 ranks`."""
    return f"{number(value, metric)} {unit(metric)}".strip()


def number(value: float, metric: str) -> str:
    """The same without its unit: `61.0`, `1.357`."""
    return f"{scale(metric) * value:.{_digits(metric)}f}"


def change(value: float, metric: str) -> str:
    """A difference of two scores, signed and without its unit: `+1.3`, `-0.012`."""
    return f"{scale(metric) * value:+.{_digits(metric)}f}"


def unit(metric: str) -> str:
    """What a score is measured in."""
    return NOT_SHARES.get(metric, "%")


def scale(metric: str) -> int:
    """By what a stored score is multiplied to be shown."""
    return 1 if metric in NOT_SHARES else 100


def _digits(metric: str) -> int:
    return {"%": 1, "ranks": 3}.get(unit(metric), 4)
