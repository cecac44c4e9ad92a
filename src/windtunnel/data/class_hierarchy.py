"""Hierarchies of classes: which classes are above a class."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.wording import counted
from windtunnel.data.wordnet import read_is_a, text_lines

# The parents of each class.
Parents = Mapping[str, frozenset[str]]

COLUMNS = ["child", "parent"]
CSV_SUFFIX = ".csv"


def read_hierarchy(
    file: str | Path | None, classes: Collection[str], whose: str, other_names: Collection[str] = ()
) -> Parents:
    """The parents of each class: a CSV file with the columns child and parent, or WordNet's table.

    Args:
        file: a name that ends in .csv, or a file with two WordNet ids on every line, parent and child; None
            for no hierarchy.
        classes: the classes that are looked up; a file that has none of them is refused.
        whose: what the classes belong to, for messages.
        other_names: names under which the file may have them, too.
    """
    if file is None:
        return {}
    path = Path(file)
    parents = _read_csv(path) if path.suffix.lower() == CSV_SUFFIX else read_is_a(path)
    if known_names(parents).isdisjoint((*classes, *other_names)):
        example = f", such as '{min(classes)}'" if classes else ""
        raise UserError(
            f"{option('hierarchy')} is '{file}', which has none of the "
            f"{counted(len(classes), 'class', 'classes')} of {whose}{example}; give a hierarchy of these "
            f"names: a {CSV_SUFFIX} file with the columns {' and '.join(COLUMNS)}."
        )
    return parents


def known_names(parents: Parents) -> set[str]:
    """Every class of a hierarchy."""
    return set(parents).union(*parents.values())


def _read_csv(file: Path) -> Parents:
    header, *rows = [[cell.strip() for cell in row] for row in csv.reader(text_lines(file)) if row] or [[]]
    if [name.lower() for name in header] != COLUMNS:
        raise UserError(
            f"{file} begins with '{','.join(header)[:60]}'; its first line must be {','.join(COLUMNS)}."
        )
    parents: dict[str, set[str]] = {}
    for number, row in enumerate(rows, 2):
        if len(row) != 2 or not all(row):
            raise UserError(
                f"{file}: row {number} is '{','.join(row)[:60]}'; it needs two class names, child and parent."
            )
        parents.setdefault(row[0], set()).add(row[1])
    if not parents:
        raise UserError(f"{file} has no rows; write a child and its parent on every line.")
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        circle = " above ".join(f"'{name}'" for name in error.args[1])
        raise UserError(f"{file} has a circle: {circle}; a class cannot be above itself.") from error
    return {child: frozenset(above) for child, above in parents.items()}
