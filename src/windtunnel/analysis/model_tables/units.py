"""Units of accuracies in tables: fractions and percentages are told apart, and never mixed silently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from windtunnel.analysis.model_tables.table import Floats
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.option_names import option
from windtunnel.core.wording import listed

UNITS = ("fraction", "percent")
# Decimals of fractions that were percentages.
DECIMALS = 12
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
    impossible = {
        name: column for name, column in columns.items() if _smallest(column) < 0 or _largest(column) > 100
    }
    if impossible:
        name, column = next(iter(impossible.items()))
        others = listed(list(impossible)[1:], NAMED)
        more = f", and so have {others}" if len(impossible) > 1 else ""
        ignored = " ".join(option("ignore", [each]) for each in list(impossible)[:NAMED])
        raise UserError(
            f"{source}: column '{name}' has values from {_smallest(column):g} to {_largest(column):g}, which "
            f"are no accuracies{more}; leave {'it' if len(impossible) == 1 else 'them'} out with {ignored}."
        )
    over_one = [name for name, column in columns.items() if name not in own and _largest(column) > 1]
    rest = [name for name in columns if name not in own and name not in over_one]
    for name in (name for name, asked in own.items() if asked == "fraction" and _largest(columns[name]) > 1):
        raise UserError(
            f"{source}: {name} has values up to {_largest(columns[name]):g}; they are no fractions."
        )
    if over_one and unit != "percent":
        _refuse_single_values(columns, over_one, source)
    if over_one and rest:
        raise UserError(
            f"{source} mixes units: {listed(over_one, NAMED)} in per cent, {listed(rest, NAMED)} up to 1. "
            f"{_advice(over_one, rest, unit)}"
        )
    if over_one and unit != "percent":
        largest = max(over_one, key=lambda name: _largest(columns[name]))
        raise UserError(
            f"{source} has values up to {_largest(columns[largest]):g} ({largest}), which are no fractions; "
            f"if all columns are in per cent, add {option('unit', ['percent'])}."
        )
    if rest and unit == "percent":
        has = "has" if len(rest) == 1 else "have"
        raise UserError(
            f"{source} is declared in per cent, but {listed(rest, NAMED)} {has} no value over 1. These are "
            f"fractions: leave out {option('unit', ['percent'])}."
        )
    units = {name: own.get(name, "percent" if name in over_one else "fraction") for name in columns}
    return {
        name: _of_percent(column) if units[name] == "percent" else column for name, column in columns.items()
    }


def _of_percent(column: Floats) -> Floats:
    """Percentages as fractions without rounding errors: 57.3 gives 0.573, which 57.3 / 100 does not."""
    return np.round(column / 100, DECIMALS)


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


def _refuse_single_values(columns: Mapping[str, Floats], over_one: Sequence[str], source: str) -> None:
    """Refuse single values over 1 among fractions, unless a column is mostly over 1."""
    if any(float(np.nanmedian(columns[name])) > 1 for name in over_one):
        return
    name = over_one[0]
    values = columns[name][np.isfinite(columns[name])]
    raise UserError(
        f"{source}: {name} has {_largest(values):g}, but {int((values <= 1).sum())} of its {len(values)} "
        f"values are up to 1; correct the value, or declare {option('unit', [f'{name}=percent'])} if all of "
        "them are in per cent."
    )


def _advice(over_one: Sequence[str], rest: Sequence[str], unit: str) -> str:
    """The units to declare for a table of both, by the fewer columns."""
    fewer = over_one if len(over_one) <= len(rest) else rest
    if fewer is over_one:
        wanted = [f"{name}=percent" for name in over_one]
        instead = f" in place of {option('unit', ['percent'])}" if unit == "percent" else ""
    else:
        wanted = ["percent", *(f"{name}=fraction" for name in rest)]
        instead = ""
    units = " ".join(option("unit", [text]) for text in wanted[: NAMED + 1])
    ignored = " ".join(option("ignore", [name]) for name in fewer[:NAMED])
    more = " and so on" if len(wanted) > NAMED + 1 else ""
    return f"Declare {units}{more}{instead}, or leave columns out with {ignored}."


def _largest(column: Floats) -> float:
    return float(np.nanmax(column)) if np.isfinite(column).any() else 0.0


def _smallest(column: Floats) -> float:
    return float(np.nanmin(column)) if np.isfinite(column).any() else 0.0
