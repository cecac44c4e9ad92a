"""How numbers of things are written."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, in the singular for one: `1 shard`, `2,048 shards`, `3 classes`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
