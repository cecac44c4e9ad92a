"""How the labels of a dataset match a model's outputs: mismatches, and a user's map between them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from windtunnel import published
from windtunnel.core.errors import UserError
from windtunnel.core.labels import LabelSpace, Projection
from windtunnel.core.metrics import needing
from windtunnel.core.samples import Sample
from windtunnel.core.wording import counted
from windtunnel.data.label_spaces import (
    CLASS_INDICES,
    MAX_CLASS_INDEX,
    mixed_names,
    quoted_names,
    stray_names,
)
from windtunnel.published.imagenet import imagenet_1k

# Maps that come with the package, by name.
SHIPPED_MAPS = {"laion-c": "laion_c_classes.csv"}


def refuse_unlabelled(location: str, suite: str, metrics: Sequence[str], samples: Sequence[Sample]) -> None:
    """Refuse images without any label where every score of the suite needs one."""
    if any(sample.labels for sample in samples) or set(metrics) - set(needing("labels", metrics)):
        return
    raise UserError(
        f"None of the {counted(len(samples), 'image')} of {location} has a label, and every score of suite "
        f"{suite} needs labels. Put the images into one folder per class, or give a table with the columns "
        "path and label. Suites imagenet-p and systematic need no labels."
    )


def odd_labels(space: LabelSpace, used: Sequence[int], samples: Sequence[Sample], outputs: int) -> str:
    """A note on labels that do not fit: indices beyond the model's outputs, or mixed class names."""
    if space.name == "indices":
        beyond = [label for label in used if label >= outputs]
        if not beyond:
            return ""
        image = next(sample.id for sample in samples if max(used) in sample.labels)
        return (
            f"{len(beyond):,} of {len(used):,} labels in the data {'is' if len(beyond) == 1 else 'are'} "
            f"not among the model's {outputs:,} outputs; the highest is {max(used)} (image '{image}')."
        )
    form, others = stray_names([space.classes[label] for label in used])
    if not others:
        return mixed_names([space.classes[label] for label in used])
    image = next(
        sample.id for sample in samples if others[0] in [space.classes[label] for label in sample.labels]
    )
    are = f"{quoted_names(others)} {'is' if len(others) == 1 else 'are'} not"
    numbers = [name for name in others if name.isdecimal()] if form == CLASS_INDICES else []
    too_large = (
        f" {numbers[0]} is too large for a class index; give 0 to {MAX_CLASS_INDEX:,}." if numbers else ""
    )
    return (
        f"{len(used) - len(others):,} of {len(used):,} class names are {form}, {are} (image '{image}'): all "
        f"count as names, in sorted order.{too_large}"
    )


def read_map(
    file: Path, space: LabelSpace, used: Sequence[int], classes: Sequence[str], class_count: int
) -> tuple[LabelSpace, Projection]:
    """A user's map from a model's outputs to the data's classes, as CSV with the columns output,class.

    An output is a class name or WordNet id of the model, or an index. Classes without images compete with
    the data's classes and follow them in the label space. Outputs that are not listed do not count.
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
        if not name:
            raise UserError(f"{file}: line {number} names no class; give one, or remove the line.")
        if name not in targets:
            targets[name] = len(outputs)
            outputs.append([])
        if taken.get(index, name) != name:
            raise UserError(
                f"{file}: output '{output}' is mapped to '{taken[index]}' and to '{name}'; keep one line."
            )
        if index not in taken:
            outputs[targets[name]].append(index)
        taken[index] = name
    missing = [space.classes[label] for label in used if not outputs[label]]
    if missing:
        raise UserError(
            f"{file} gives no output for {len(missing)} of the data's {len(used)} classes ('{missing[0]}' "
            f"...; it has '{next(iter(taken.values()), '')}' ...); add them or give other data."
        )
    competing = tuple(place for place, indices in enumerate(outputs) if indices)
    wider = LabelSpace(space.name, tuple(targets), space.order)
    return wider, Projection(competing, tuple(tuple(sorted(indices)) for indices in outputs))


def without_images(space: LabelSpace, wider: LabelSpace) -> list[str]:
    """A note on the classes of a map that have no images in the data."""
    added = wider.classes[len(space) :]
    if not added:
        return []
    if len(added) == 1:
        return [f"1 class of the map ('{added[0]}') has no image: a prediction of it is wrong."]
    return [
        f"{len(added):,} classes of the map ('{added[0]}' ...) have no image: a prediction of these is wrong."
    ]


def _map_rows(file: Path) -> list[dict[str, str]]:
    if not file.is_file() and file.name not in SHIPPED_MAPS:
        raise UserError(
            f"No such map: {file}. Give a CSV file with the columns output,class, or "
            f"{' or '.join(SHIPPED_MAPS)}."
        )
    try:
        shipped = "" if file.is_file() else published.read_text(SHIPPED_MAPS[file.name])
        text = shipped or file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not UTF-8 text ({error.reason}); save the map as UTF-8.") from error
    reader = csv.DictReader(io.StringIO(text, newline=""))
    if not {"output", "class"} <= set(reader.fieldnames or ()):
        raise UserError(
            f"{file} has the columns {', '.join(reader.fieldnames or ()) or 'none'}; "
            "it needs output and class."
        )
    return list(reader)
