"""The broad type of every class: from a table, from a hierarchy of classes, or as published."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from windtunnel import published
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.option_names import option
from windtunnel.core.wording import counted, listed
from windtunnel.data.class_hierarchy import CSV_SUFFIX, Parents, known_names, read_hierarchy
from windtunnel.data.wordnet import ancestors, text_lines
from windtunnel.options.subtypes import PUBLISHED_TYPES

Part = Literal["seen", "unseen"]
PARTS: tuple[Part, ...] = get_args(Part)
COLUMNS = ("class", "type", "part")
# Names in a note.
NAMED = 5


@dataclass(frozen=True)
class ClassTypes:
    """The broad types of a dataset's classes.

    Attributes:
        types: the type of each class that has one.
        parts: whether a class is seen or unseen, where the file says so.
        notes: notes for the user on classes that are left out.
    """

    types: dict[str, str]
    parts: dict[str, Part] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_types(
    hierarchy: str | Path | None, types: Sequence[str], classes: Collection[str], whose: str
) -> ClassTypes:
    """The type of every class of a dataset that has one.

    Args:
        hierarchy: a table of classes and types, a hierarchy as `read_hierarchy` takes it, or the name of the
            published types.
        types: the types in a hierarchy; by default the classes without a parent.
        classes: the dataset's classes.
        whose: the dataset, for messages.
    """
    if hierarchy is None:
        raise UserError(
            f"{option('hierarchy')} is not given; give a {CSV_SUFFIX} file with the columns class and type, "
            f"or {PUBLISHED_TYPES} for the published types of ImageNet's classes."
        )
    if str(hierarchy) != PUBLISHED_TYPES and not _is_table(Path(hierarchy)):
        found = _of_hierarchy(read_hierarchy(hierarchy, classes, whose), types, classes)
    elif types:
        raise UserError(
            f"{option('types')} is given, but {hierarchy} states the type of every class; leave it out."
        )
    elif str(hierarchy) == PUBLISHED_TYPES:
        rows = csv.DictReader(io.StringIO(published.read_text("subtype_classes.csv")))
        found = ClassTypes({row["class"]: row["type"] for row in rows})
    else:
        found = _read_table(Path(hierarchy))
    typed = {name: found.types[name] for name in classes if name in found.types}
    if not typed:
        example = f", such as '{min(classes)}'" if classes else ""
        raise UserError(
            f"{option('hierarchy')} is '{hierarchy}', which has a type for none of the "
            f"{counted(len(classes), 'class', 'classes')} of {whose}{example}; give the types of these names."
        )
    notes = list(found.notes)
    if without := sorted(set(classes) - set(typed)):
        notes.append(
            f"{counted(len(without), 'class', 'classes')} of {whose} without a type "
            f"{'is' if len(without) == 1 else 'are'} left out: {listed(without, NAMED)}."
        )
    return ClassTypes(typed, {name: found.parts[name] for name in typed if name in found.parts}, tuple(notes))


def published_types() -> dict[str, str]:
    """The 25 types of Hendrycks and Dietterich: names by WordNet id."""
    rows = csv.DictReader(io.StringIO(published.read_text("subtype_types.csv")))
    return {row["wnid"]: row["name"] for row in rows}


def _is_table(file: Path) -> bool:
    """Whether a file is a CSV file that begins with the columns class and type."""
    if file.suffix.lower() != CSV_SUFFIX:
        return False
    first = next(iter(text_lines(file)), "")
    return [name.strip().lower() for name in first.split(",")][:2] == list(COLUMNS[:2])


def _read_table(file: Path) -> ClassTypes:
    header, *rows = [[cell.strip() for cell in row] for row in csv.reader(text_lines(file)) if row]
    names = tuple(name.lower() for name in header)
    if names not in (COLUMNS[:2], COLUMNS):
        raise UserError(
            f"{file} begins with '{','.join(header)[:60]}'; its first line must be {','.join(COLUMNS[:2])} "
            f"or {','.join(COLUMNS)}."
        )
    types: dict[str, str] = {}
    parts: dict[str, Part] = {}
    for number, row in enumerate(rows, 2):
        if len(row) != len(names) or not all(row):
            raise UserError(
                f"{file}: row {number} is '{','.join(row)[:60]}'; it needs {listed(names)}, none of "
                "them empty."
            )
        if row[0] in types:
            raise UserError(f"{file}: row {number} repeats the class '{row[0]}'; list every class once.")
        types[row[0]] = row[1]
        if len(row) == len(COLUMNS):
            part = next((part for part in PARTS if part == row[2].lower()), None)
            if part is None:
                raise UserError(f"{file}: row {number} has the part '{row[2]}'; write {' or '.join(PARTS)}.")
            parts[row[0]] = part
    return ClassTypes(types, parts)


def _of_hierarchy(parents: Parents, given: Sequence[str], classes: Collection[str]) -> ClassTypes:
    """The one type above each class; a class below several is left out."""
    names = _type_names(parents, given)
    above = {name: sorted(ancestors(name, parents) & set(names)) for name in classes}
    several = sorted(name for name, found in above.items() if len(found) > 1)
    notes = (
        [
            f"{counted(len(several), 'class', 'classes')} below several types "
            f"{'is' if len(several) == 1 else 'are'} left out: {listed(several, NAMED)}."
        ]
        if several
        else []
    )
    types = {name: names[found[0]] for name, found in above.items() if len(found) == 1}
    return ClassTypes(types, notes=tuple(notes))


def _type_names(parents: Parents, given: Sequence[str]) -> Mapping[str, str]:
    """The names of the types by their class in the hierarchy."""
    known = known_names(parents)
    if not given:
        return {name: name for name in known if name not in parents}
    names: dict[str, str] = {}
    for name in given:
        if name == PUBLISHED_TYPES:
            names |= published_types()
        elif name in known:
            names[name] = name
        else:
            raise unknown_name("type", name, sorted(known), f"a class of {option('hierarchy')}")
    return names
