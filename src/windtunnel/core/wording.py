"""Formatting of numbers, lists and durations in messages."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, in the singular for one: `1 shard`, `2,048 shards`, `3 classes`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def article(noun: str) -> str:
    """A noun with its indefinite article: `a loss`, `an image step`."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


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


def seconds_in(text: str) -> float | None:
    """The seconds of a length of time such as `90s`, `10m`, `1.5h` or `2h30m`; None for other text."""
    parts = _PART.findall(text.lower())
    if not parts or "".join(number + unit for number, unit in parts) != text.lower().replace(" ", ""):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in parts) or None


def byte_size(count: float) -> str:
    """A number of bytes, rounded: `640 kB`, `12 MB`, `3.4 GB`."""
    for unit in ("kB", "MB", "GB"):
        count /= 1000
        if count < 999.5 or unit == "GB":
            break
    return f"{count:.1f} {unit}" if count < 9.95 else f"{count:,.0f} {unit}"
