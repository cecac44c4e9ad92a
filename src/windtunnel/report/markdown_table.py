"""Markdown: a table, and text that is shown as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# The beginning of an HTML tag or comment.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table; bars in cells are escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def plain(text: str) -> str:
    """A text of one line without HTML, links, images and mentions of people."""
    escaped = _TAG.sub("&lt;", " ".join(text.split())).replace("@", "&#64;")
    return escaped.replace("](", "]&#40;")
