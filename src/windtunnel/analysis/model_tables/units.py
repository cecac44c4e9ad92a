"""Units of accuracies in tables: fractions and percentages are told apart, and never mixed silently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from windtunnel.analysis.model_tables.table import Floats
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.option_names import option
from windtunnel.core.wording import listed

UNITS = ("fraction", "percent")
# Column names in one message.
NAMED = 4


def as_fractions(
    columns: Mapping[str, Floats], declared: Sequence[str], source: str, usual: str = ""
) -> dict[str, Floats]:
    """The columns as fractions.

    A column with a value over 1 is in per cent; columns up to 1 are fractions. A table of percentages is
    refused unless the unit is declared, and so is a table of both.

    Args:
        columns: accuracies by name, NaN where missing.
        declared: `fraction`, `percent`, or `COLUMN=percent` for one column.
        source: the table's name in messages.
        usual: the unit that the format of the table has, if nothing is declared.
    """
    unit, own = _declared(declared, columns)
    unit = unit or usual
    for name, column in columns.items():
        low, high = (
            (float(np.nanmin(column)), float(np.nanmax(column))) if np.isfinite(column).any() else (0, 0)
        )
        if low < 0 or high > 100:
            raise UserError(
                f"{source}: column '{name}' has values from {low:g} to {high:g}, which are no accuracies; "
                f"leave it out with {option('ignore', [name])}."
            )
    over_one = [name for name, column in columns.items() if name not in own and _largest(column) > 1]
    rest = [name for name in columns if name not in own and name not in over_one]
    for name in (name for name, asked in own.items() if asked == "fraction" and _largest(columns[name]) > 1):
        raise UserError(
            f"{source}: {name} has values up to {_largest(columns[name]):g}; they are no fractions."
        )
    if over_one and rest:
        raise UserError(
            f"{source} mixes units: {listed(over_one, NAMED)} in per cent, {listed(rest, NAMED)} up to 1. "
            f"Declare single columns, as in {option('unit', [f'{rest[0]}=fraction'])}, or leave them out "
            f"with {option('ignore', [rest[0]])}."
        )
    if over_one and unit != "percent":
        largest = max(over_one, key=lambda name: _largest(columns[name]))
        raise UserError(
            f"{source} has values up to {_largest(columns[largest]):g} ({largest}), which are no fractions; "
            f"if all columns are in per cent, add {option('unit', ['percent'])}."
        )
    if rest and unit == "percent":
        raise UserError(
            f"{source} is declared in per cent, but {listed(rest, NAMED)} has no value over 1; leave out "
            f"{option('unit')}, or declare the column, as in {option('unit', [f'{rest[0]}=percent'])}."
        )
    units = {name: own.get(name, "percent" if name in over_one else "fraction") for name in columns}
    return {name: column / (100 if units[name] == "percent" else 1) for name, column in columns.items()}


def _declared(declared: Sequence[str], columns: Mapping[str, Floats]) -> tuple[str, dict[str, str]]:
    """The unit of the whole table, and the units of single columns of it; other tables' are skipped."""
    whole, own = "", {}
    for text in declared:
        name, equals, unit = text.rpartition("=")
        if unit not in UNITS:
            raise unknown_name("unit", text, UNITS)
        if not equals:
            whole = unit
        elif name in columns:
            own[name] = unit
    return whole, own


def _largest(column: Floats) -> float:
    return float(np.nanmax(column)) if np.isfinite(column).any() else 0.0
