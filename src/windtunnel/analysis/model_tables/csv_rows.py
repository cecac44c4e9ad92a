"""Reading the cells of CSV tables, with messages that name the file, the line and the column."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from pathlib import Path

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option

# Cells that say that a value is missing, in lower case.
MISSING = ("", "nan", "na", "n/a", "none", "null", "-")
# 1,234,567.8 has commas between thousands; 0,75 has a decimal comma.
THOUSANDS = re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
DECIMAL_COMMA = re.compile(r"\d+,\d+")
PERCENTAGE = re.compile(r"\d+([.,]\d+)?\s*%")
# Separators of columns that other programs write.
OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}


def csv_rows(path: Path) -> list[list[str]]:
    """The rows of a CSV file as text, without empty ones at the end; all as long as the first."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            rows = [[cell.strip() for cell in row] for row in csv.reader(stream)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(
            f"{path} is not a CSV file, or not in UTF-8; give a table of text separated by commas."
        ) from error
    if not rows or not any(rows[0]):
        raise UserError(
            f"{path} has no header; a table has a line of column names and a line for each model."
        )
    for character, name in OTHER_SEPARATORS.items():
        if len(rows[0]) == 1 and character in rows[0][0]:
            raise UserError(
                f"{path} separates its columns by {name}; separate them by commas, with decimal points in "
                "numbers (0.75)."
            )
    while not any(rows[-1]):
        rows.pop()
    for line, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise UserError(
                f"{path}, line {line} has {len(row)} cells, and the header has {len(rows[0])}; correct the "
                "line."
            )
    return rows


def is_number(cell: str) -> bool:
    """Whether a cell is meant as a finite number; `number` refuses decimal commas and signs of per cent."""
    return math.isfinite(_value(cell)) or any(
        pattern.fullmatch(cell) for pattern in (DECIMAL_COMMA, PERCENTAGE)
    )


def number(cell: str, where: str) -> float:
    """The number in a cell; NaN for a missing one. Other text is refused."""
    if cell.lower() in MISSING:
        return math.nan
    value = _value(cell)
    if PERCENTAGE.fullmatch(cell):
        raise UserError(
            f"{where} is '{cell}'; write numbers without %, and declare {option('unit', ['percent'])}."
        )
    if not math.isfinite(value) and DECIMAL_COMMA.fullmatch(cell):
        raise UserError(f"{where} is '{cell}', with a decimal comma; write {cell.replace(',', '.')}.")
    if not math.isfinite(value):
        raise UserError(f"{where} is '{cell}'; give a number such as 0.75, or leave the cell empty.")
    return value


def unique_models(models: Sequence[str], path: Path, first_line: int) -> None:
    """Refuse a table in which a model has no name or is listed twice."""
    seen: dict[str, int] = {}
    for line, model in enumerate(models, start=first_line):
        if not model:
            raise UserError(f"{path}, line {line}: the model has no name.")
        if model in seen:
            raise UserError(
                f"{path}, line {line}: {model} is listed twice, also on line {seen[model]}; keep one of the "
                "rows."
            )
        seen[model] = line


def _value(cell: str) -> float:
    try:
        return float(cell.replace(",", "") if THOUSANDS.fullmatch(cell) else cell)
    except ValueError:
        return math.nan
