"""Natural sets: the contents of `natural.toml` and of the class tables that it names."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from windtunnel import published
from windtunnel.core.errors import unknown_name
from windtunnel.core.records import OwnSet

Layout = Literal["wordnet", "indices", "objectnet", "attributes", "video", "ytbb", "own", "frames"]
OutputRule = Literal["mask", "all", "several", "collapse", "own"]
Role = Literal["shifted", "out"]
Frames = Literal["accepted", "candidates"]


@dataclass(frozen=True)
class NaturalSet:
    """A natural set as declared in `natural.toml`, which documents each key.

    `own` is the declaration of a user's own set, whose facts replace those of the set that it extends.
    """

    name: str
    title: str
    source: str
    layout: Layout
    role: Role
    part: str
    output_rule: OutputRule
    names: tuple[str, ...]
    filtered_by: tuple[str, ...]
    not_trained_on: tuple[str, ...]
    notes: tuple[str, ...]
    table: str = ""
    classes: tuple[str, ...] = ()
    frames: Frames = "accepted"
    masked: bool = False
    own: OwnSet | None = None


@lru_cache(maxsize=1)
def natural_sets() -> dict[str, NaturalSet]:
    """Every natural set, by name."""
    sets = {}
    tables = tomllib.loads(published.read_text("natural.toml"))
    for name, table in tables.items():
        whole = {**tables.get(table.pop("extends", ""), {}), **table}
        facts: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in whole.items()
        }
        sets[name] = NaturalSet(name, **facts)
    return sets


def natural_set(name: str) -> NaturalSet:
    """A natural set by its name."""
    if name not in natural_sets():
        raise unknown_name("natural set", name, natural_sets())
    return natural_sets()[name]


def extended_by(own: OwnSet) -> NaturalSet:
    """A user's own natural set: the one that it extends, with its own facts."""
    return replace(
        natural_set(own.extends),
        title=own.title,
        source=own.source or natural_set(own.extends).source,
        part=own.name,
        filtered_by=tuple(model.name for model in own.filter_models),
        not_trained_on=own.not_trained_on,
        notes=own.notes,
        classes=own.classes,
        own=own,
    )


@lru_cache(maxsize=8)
def masked_classes(column: str) -> tuple[int, ...]:
    """The ImageNet-1k indices that a column of `imagenet_1k.csv` marks."""
    rows = csv.DictReader(io.StringIO(published.read_text("imagenet_1k.csv")))
    return tuple(int(row["index"]) for row in rows if row[column] == "1")


@lru_cache(maxsize=8)
def several_ids(table: str) -> dict[str, tuple[int, ...]]:
    """By folder key (see `folder_key`), the ImageNet-1k indices that are correct for its images."""
    rows = csv.DictReader(io.StringIO(published.read_text(table)))
    return {folder_key(row["folder"]): tuple(map(int, row["imagenet_1k_indices"].split())) for row in rows}


def folder_key(name: str) -> str:
    """The key of a class folder in any spelling: lower case, words joined by underscores."""
    return "_".join(re.findall(r"[a-z0-9]+", name.lower().replace("'", "")))


@lru_cache(maxsize=8)
def collapse_map(table: str) -> dict[int, int]:
    """By ImageNet-1k index, the class that it maps to."""
    rows = csv.DictReader(io.StringIO(published.read_text(table)))
    return {int(row["imagenet1k_index"]): int(row["target_index"]) for row in rows}
