"""Labelled lines and tables of commands."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from windtunnel.core.json_log import JsonLog


def printable(text: str) -> str:
    """A text without control characters: labels and paths could command the terminal."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)


def print_lines(console: Console, lines: list[tuple[str, str]]) -> None:
    """Print labelled lines in one column; in a log, an event for each."""
    if isinstance(console, JsonLog):
        for label, text in lines:
            console.event(label, text=text)
        return
    lines = [(printable(label), printable(text)) for label, text in lines]
    width = max(len(label) for label, _ in lines)
    for label, text in lines:
        # One call per line, because a progress bar may be drawn below.
        line = Text.assemble((f"{label:<{width}}", "bold"), "  ", text)
        console.print(line, highlight=False, soft_wrap=True)


def print_table(console: Console, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print aligned columns under a bold header; rows are not wrapped."""
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for place, row in enumerate([header, *rows]):
        text = "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        style = "" if place else "bold"
        console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
