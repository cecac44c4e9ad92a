"""Cells of CSV files that people open in spreadsheets."""

from __future__ import annotations

import re
from typing import Any

# Beginnings of texts that spreadsheets calculate, and such texts behind apostrophes.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def csv_cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: such texts get an apostrophe in front."""
    if isinstance(value, str) and _FORMULA.match(value):
        return f"'{value}"
    return "" if value is None else value


def plain_cell(text: str) -> str:
    """The text that `csv_cell` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
