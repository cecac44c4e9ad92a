"""Formatting of numbers, lists and durations in messages."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, in the singular for one: `1 shard`, `2,048 shards`, `3 classes`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(values: Sequence[object], most: int | None = None) -> str:
    """Values separated by commas, at most `most`, then the number left: `fog, snow and 3 more`, `none`."""
    shown = ", ".join(map(str, values[:most])) or "none"
    more = 0 if most is None else len(values) - most
    return f"{shown} and {more:,} more" if more > 0 else shown


def duration(seconds: float) -> str:
    """A length of time, rounded for an estimate: `8 s`, `12 min`, `3 h 20 min`, `2 d 4 h`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    if minutes < 48 * 60:
        hours, rest = divmod(10 * round(minutes / 10), 60)
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    days, hours = divmod(round(minutes / 60), 24)
    return f"{days} d {hours} h" if hours else f"{days} d"
