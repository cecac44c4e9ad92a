"""The facts of natural sets: `natural.toml`, and the tables of classes it names."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from windtunnel import published
from windtunnel.core.errors import unknown_name
from windtunnel.published.imagenet import imagenet_1k

Layout = Literal["wordnet", "indices", "objectnet", "video", "ytbb", "own", "frames"]
Answers = Literal["mask", "all", "several", "collapse", "own"]
Role = Literal["shifted", "out"]
Frames = Literal["accepted", "candidates"]
# Words that make another network of one that is named beside them.
VARIANT_BEFORE = "wide|se|x"
VARIANT_BEHIND = "d|gn|v2"


@dataclass(frozen=True)
class NaturalSet:
    """A natural set as `natural.toml` has it; see there for what each key means."""

    name: str
    title: str
    source: str
    layout: Layout
    role: Role
    part: str
    answers: Answers
    names: tuple[str, ...]
    filtered_by: tuple[str, ...]
    not_trained_on: tuple[str, ...]
    remarks: tuple[str, ...]
    table: str = ""
    classes: tuple[str, ...] = ()
    frames: Frames = "accepted"
    masked: bool = False

    def networks_that_filtered(self, *texts: str) -> tuple[str, ...]:
        """Which of the networks that chose the images a model's name or family says it is."""
        return tuple(one for one in self.filtered_by if any(names_network(text, one) for text in texts))

    def conflicts_with(self, trained_on: Iterable[str]) -> tuple[str, ...]:
        """Which data sets that a model was trained on it must not have seen."""
        return tuple(one for one in trained_on if any(is_data_set(one, own) for own in self.not_trained_on))


@lru_cache(maxsize=1)
def natural_sets() -> dict[str, NaturalSet]:
    """Every natural set, by name."""
    found = {}
    tables = tomllib.loads(published.read_text("natural.toml"))
    for name, table in tables.items():
        whole = {**tables.get(table.pop("extends", ""), {}), **table}
        facts: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in whole.items()
        }
        found[name] = NaturalSet(name, **facts)
    return found


def natural_set(name: str) -> NaturalSet:
    """A natural set by its name."""
    if name not in natural_sets():
        raise unknown_name("natural set", name, natural_sets())
    return natural_sets()[name]


@lru_cache(maxsize=8)
def masked_classes(column: str) -> tuple[int, ...]:
    """The ImageNet-1k indices that a column of `imagenet_1k.csv` marks."""
    rows = csv.DictReader(io.StringIO(published.read_text("imagenet_1k.csv")))
    return tuple(int(row["index"]) for row in rows if row[column] == "1")


@lru_cache(maxsize=8)
def several_ids(table: str) -> dict[str, tuple[int, ...]]:
    """By folder, as `folder_key` spells it, the ImageNet-1k indices that are right for its images."""
    rows = csv.DictReader(io.StringIO(published.read_text(table)))
    return {folder_key(row["folder"]): tuple(map(int, row["imagenet_1k_indices"].split())) for row in rows}


def folder_key(name: str) -> str:
    """An ObjectNet class, however it is spelt: lower case, words joined by underscores."""
    return "_".join(re.findall(r"[a-z0-9]+", name.lower().replace("'", "")))


@lru_cache(maxsize=8)
def collapse_map(table: str) -> dict[int, int]:
    """By ImageNet-1k index, the class it stands for."""
    rows = csv.DictReader(io.StringIO(published.read_text(table)))
    return {int(row["imagenet1k_index"]): int(row["target_index"]) for row in rows}


def is_data_set(text: str, name: str) -> bool:
    """Whether a text names a data set, perhaps with more words behind: `ImageNet_21k-P` is imagenet-21k.

    Words are compared, so that imagenet-real is not imagenet-r; how they are joined makes no difference.
    """
    words = re.findall(r"[a-z0-9]+", text.lower())
    beginnings = {"".join(words[:count]) for count in range(1, len(words) + 1)}
    return "".join(re.findall(r"[a-z0-9]+", name.lower())) in beginnings


def names_network(text: str, network: str) -> bool:
    """Whether a text names a network, however it is spelt: `timm/resnet50.a1_in1k` names ResNet-50.

    What goes on with a letter or a digit is another network (resnet50d, resnet501), and so is what has the
    word of a variant before or behind it (wide_resnet50, ResNet-50-D).
    """
    words = re.findall(r"[a-z]+|\d+", network.lower())
    named = rf"(?<![a-z0-9]){'[-_ ]?'.join(words)}(?![a-z0-9])(?![-_ ]({VARIANT_BEHIND})(?![a-z0-9]))"
    before = (text.lower()[: one.start()] for one in re.finditer(named, text.lower()))
    return any(not re.search(rf"(?<![a-z0-9])({VARIANT_BEFORE})[-_ ]$", one) for one in before)


def counted_imagenet_classes(natural: NaturalSet) -> tuple[int, ...]:
    """The ImageNet-1k classes that a set's answers are made of."""
    if natural.answers == "mask":
        return masked_classes(natural.table)
    if natural.answers == "collapse":
        return tuple(sorted(collapse_map(natural.table)))
    if natural.answers == "several":
        return tuple(sorted(one for ids in several_ids(natural.table).values() for one in ids))
    return tuple(range(len(imagenet_1k())))


def labels_of_imagenet_class(natural: NaturalSet, index: int) -> tuple[int, ...]:
    """What a clean image of an ImageNet-1k class is labelled with in a set's label space, () for none."""
    if natural.answers == "collapse":
        found = collapse_map(natural.table).get(index)
        return () if found is None else (found,)
    if natural.answers == "several":
        return next((ids for ids in several_ids(natural.table).values() if index in ids), ())
    return (index,) if index in counted_imagenet_classes(natural) else ()
