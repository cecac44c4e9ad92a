"""Cells of CSV files that people open in spreadsheets."""

from __future__ import annotations

from typing import Any

# Beginnings of texts that spreadsheets calculate.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: such texts get an apostrophe in front."""
    if isinstance(value, str) and value.startswith(FORMULA):
        return f"'{value}"
    return "" if value is None else value
