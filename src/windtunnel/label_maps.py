"""A user's map from a model's outputs to the data's classes, read from CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.labels import LabelSpace, Projection, imagenet_1k


def read_map(
    file: Path, space: LabelSpace, used: Sequence[int], classes: Sequence[str], class_count: int
) -> Projection:
    """A user's map from a model's outputs to the data's classes, as CSV with the columns output,class.

    An output is a class name or WordNet id of the model, or an index; a class is one of the data's.
    Outputs that are not listed do not count.
    """
    outputs: list[list[int]] = [[] for _ in space.classes]
    taken: dict[int, str] = {}
    names = classes or (imagenet_1k().classes if class_count == len(imagenet_1k()) else ())
    where = {name: index for index, name in enumerate(names)}
    targets = {name: index for index, name in enumerate(space.classes)}
    for number, row in enumerate(_map_rows(file), 2):
        output, name = (str(row.get(key) or "").strip() for key in ("output", "class"))
        index = where.get(output, int(output) if output.isdecimal() else -1)
        if not 0 <= index < class_count:
            raise UserError(
                f"{file}: line {number} names output '{output}'; the model has {class_count} outputs."
            )
        if name not in targets:
            raise UserError(
                f"{file}: line {number} names class '{name}', which the data do not have ({space.order})."
            )
        if taken.get(index, name) != name:
            raise UserError(
                f"{file}: output '{output}' stands for '{taken[index]}' and for '{name}'; give one."
            )
        if index not in taken:
            outputs[targets[name]].append(index)
        taken[index] = name
    missing = [space.classes[label] for label in used if not outputs[label]]
    if missing:
        raise UserError(
            f"{file} gives no output for {len(missing)} of the data's {len(used)} classes ('{missing[0]}' "
            "...); add them or give other data."
        )
    kept = tuple(place for place, found in enumerate(outputs) if found)
    return Projection(kept, tuple(tuple(sorted(found)) for found in outputs))


def _map_rows(file: Path) -> list[dict[str, str]]:
    if not file.is_file():
        raise UserError(f"No such map: {file}. Give a CSV file with the columns output,class.")
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not UTF-8 text ({error.reason}); save the map as UTF-8.") from error
    reader = csv.DictReader(io.StringIO(text, newline=""))
    if not {"output", "class"} <= set(reader.fieldnames or ()):
        raise UserError(
            f"{file} has the columns {', '.join(reader.fieldnames or ()) or 'none'}; "
            "it needs output and class."
        )
    return list(reader)
