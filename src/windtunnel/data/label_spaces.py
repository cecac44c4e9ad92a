"""Label spaces derived from the class names of a dataset."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.labels import DECLARABLE, IMAGENET_1K, INDICES, LabelSpace, index_space
from windtunnel.core.option_names import option
from windtunnel.published.imagenet import imagenet_1k, imagenet_names

# A WordNet id of a noun.
WNID = re.compile(r"n\d{8}")


# "7", "007", and "7.0" as spreadsheets write it. Longer numbers are names: a date, a serial number.
_INDEX = re.compile(r"\d{1,5}(\.0+)?", re.ASCII)


MAX_CLASS_INDEX = 99_999


# The kind that `stray_names` returns for names that are numbers.
CLASS_INDICES = "class indices"


# The number of class names that a note shows.
NAMES_SHOWN = 8


_NEGATIVE = re.compile(r"-\d+(\.0+)?", re.ASCII)


def label_space_of(
    names: Iterable[str], image_of: Mapping[str, str] | None = None
) -> tuple[LabelSpace, dict[str, int]]:
    """The label space of the class names in a dataset, and the index of each name.

    WordNet ids that all belong to ImageNet-1k keep their 1k indices. Whole numbers are indices themselves
    ("007" and "7.0" are 7). Other names are numbered in sorted order. `image_of` maps a name to one of its
    images, for messages.
    """
    distinct = sorted(set(names))
    if negative := next(filter(_NEGATIVE.fullmatch, distinct), ""):
        image = f" (image '{image_of[negative]}')" if image_of else ""
        raise UserError(
            f"The label {negative}{image} is negative; class indices count from 0. Correct it, or leave the "
            "cell empty for no label."
        )
    if (
        distinct
        and all(WNID.fullmatch(name) for name in distinct)
        and set(distinct) <= set(imagenet_1k().classes)
    ):
        space = imagenet_1k()
    elif distinct and all(_INDEX.fullmatch(name) for name in distinct):
        indices = {name: int(float(name)) for name in distinct}
        return index_space(max(indices.values()) + 1), indices
    else:
        space = LabelSpace("names", tuple(distinct), "sorted class names")
    return space, {name: index for index, name in enumerate(space.classes)}


def stray_names(classes: Sequence[str]) -> tuple[str, list[str]]:
    """The kind of most class names (indices, WordNet ids) and the names of another kind; "" if all agree."""
    known = set(imagenet_1k().classes)
    for form, has_form in (
        (CLASS_INDICES, lambda name: _INDEX.fullmatch(name) is not None),
        ("WordNet ids of ImageNet-1k", known.__contains__),
    ):
        others = [name for name in classes if not has_form(name)]
        if others and 2 * len(others) < len(classes):
            return form, others
    return "", []


def mixed_names(classes: Sequence[str]) -> str:
    """A note on WordNet ids of ImageNet-1k among other class names, with the names of each kind; or ""."""
    known = set(imagenet_1k().classes)
    kinds: dict[str, list[str]] = {"WordNet ids of ImageNet-1k": [], CLASS_INDICES: [], "other names": []}
    for name in classes:
        kind = CLASS_INDICES if _INDEX.fullmatch(name) else "other names"
        kinds["WordNet ids of ImageNet-1k" if name in known else kind].append(name)
    ids, *others = kinds.values()
    if not ids or not any(others):
        return ""
    listed = ", ".join(f"{kind} ({quoted_names(names)})" for kind, names in kinds.items() if names)
    return f"The class names are of several kinds: {listed}. All count as names, in sorted order."


def quoted_names(names: Sequence[str]) -> str:
    """The first class names in quotes, and the number of others."""
    more = [f"{len(names) - NAMES_SHOWN:,} more"] if len(names) > NAMES_SHOWN else []
    *first, last = [*(f"'{name}'" for name in names[:NAMES_SHOWN]), *more]
    return f"{', '.join(first)} and {last}" if first else last


def model_space(classes: Sequence[str]) -> LabelSpace:
    """The label space of the classes that a model declares, for images without labels."""
    name = IMAGENET_1K if tuple(classes) == imagenet_1k().classes else "names"
    return LabelSpace(name, tuple(classes), "as the model declares them, since no image has a label")


def read_indices(
    space: LabelSpace,
    used: Sequence[int],
    declared: str = "",
    *,
    classes: Sequence[str] = (),
    outputs: int = 0,
) -> tuple[LabelSpace, list[str]]:
    """The label space that a dataset's class indices refer to, and notes on how that was decided.

    They are ImageNet-1k's where the user or the model declares it, or where exactly the indices 0 to 999
    occur and the model has 1,000 outputs and declares no classes. Without a model only the user decides.
    Fewer indices could belong to any dataset. Other label spaces are returned unchanged.

    Args:
        space: the data's label space.
        used: the indices that occur.
        declared: "imagenet-1k", "indices" (of no known classes), or "" for not declared.
        classes: the model's classes, if it declares any.
        outputs: the model's number of outputs; 0 without a model.
    """
    if declared and declared not in DECLARABLE:
        raise unknown_name("labels", declared, DECLARABLE)
    known = imagenet_1k()
    if space.name != INDICES:
        if declared and declared != space.name:
            raise UserError(
                f"labels is '{declared}', but the data's labels are not class indices ({space.order}); leave "
                "labels out."
            )
        return space, []
    if not used or declared == INDICES:
        return space, []
    numbered = LabelSpace(IMAGENET_1K, known.classes, "class indices of ImageNet-1k")
    if declared and len(space) > len(known):
        raise UserError(
            f"labels is '{declared}', but the data has the class index {len(space) - 1}; ImageNet-1k has 0 "
            f"to {len(known) - 1}. Leave labels out, or give other data."
        )
    if declared:
        return numbered, []
    read = f"The data's class indices are read as ImageNet-1k's ({imagenet_example(used[0])})"
    way_out = f"if they are not, pass {option('labels', INDICES)}."
    if set(known.classes) <= set(classes) and len(space) <= len(known):
        return numbered, [f"{read}, because the model declares its classes; {way_out}"]
    if classes or outputs not in (0, len(known)) or list(used) != list(range(len(known))):
        return space, []
    if outputs:
        return numbered, [f"{read}, because exactly 0 to 999 occur; {way_out}"]
    return space, [
        "The data's class indices are 0 to 999 and stay numbers; if they are ImageNet-1k's "
        f"({imagenet_example(used[0])}), pass {option('labels', IMAGENET_1K)}."
    ]


def imagenet_example(index: int) -> str:
    """What a class index is in ImageNet-1k: `0 is n01440764, tench`."""
    wnid = imagenet_1k().classes[index]
    return f"{index} is {wnid}, {imagenet_names()[wnid]}"


def class_keys(space: str, classes: Sequence[str]) -> list[str]:
    """A key for each class that is equal for a WordNet id of ImageNet-1k and for its class index.

    `space` is the label space's name.
    """
    count = len(imagenet_1k())
    return list(classes) if space != IMAGENET_1K else [*map(str, range(count)), *classes[count:]]
