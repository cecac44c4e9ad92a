"""What columns of a table are, by their names: clean accuracies, natural sets, corruptions, attributes."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from typing import Any

from windtunnel import published
from windtunnel.analysis.model_tables.table import Classes, Setting, setting_key
from windtunnel.corruptions import REGISTRY as CORRUPTIONS
from windtunnel.published.natural_sets import NaturalSet, natural_sets
from windtunnel.suites.suite_files import suite_names

# What the headers of clean columns add to the name of their natural set.
CLEAN_SUFFIX = "clean"


@lru_cache(maxsize=1)
def table_facts() -> dict[str, Any]:
    """The content of `model_tables.toml`."""
    return tomllib.loads(published.read_text("model_tables.toml"))


@lru_cache(maxsize=1)
def _natural_names() -> dict[str, NaturalSet]:
    """Natural sets with labels, by every key of their names."""
    return {
        setting_key(name): natural
        for natural in natural_sets().values()
        if natural.role == "shifted"
        for name in (natural.name, natural.title, *natural.names)
        if natural.names
    }


def natural_set_of(name: str) -> NaturalSet | None:
    """The natural set that a column is named after, possibly with its version; None for other columns."""
    key = setting_key(name)
    names = _natural_names()
    if key in names:
        return names[key]
    # ImageNet-V2's three versions continue its name.
    versions = ("matchedfrequency", "threshold07", "topimages")
    return next((names[key.removesuffix(end)] for end in versions if key.removesuffix(end) in names), None)


def is_attribute(name: str) -> bool:
    """Whether a column describes models and has no accuracies."""
    return setting_key(name) in {setting_key(known) for known in table_facts()["names"]["attributes"]}


def clean_column(names: tuple[str, ...]) -> str:
    """The column of clean accuracies; "" if no column has a known name."""
    keys = {setting_key(name): name for name in names}
    known = (setting_key(name) for name in table_facts()["names"]["clean"])
    return next((keys[key] for key in known if key in keys), "")


def own_clean_column(name: str, names: tuple[str, ...]) -> str:
    """The column of clean accuracies on a set's own classes, `imagenet-a clean`; "" for none."""
    wanted = setting_key(name) + CLEAN_SUFFIX
    return next((other for other in names if setting_key(other) == wanted), "")


def classes_with(natural: NaturalSet | None, *, own_clean: bool) -> Classes:
    """Whether a natural set's clean accuracies are over its classes.

    A column of its own is; clean accuracy on all classes is only for sets in which all classes compete.
    """
    if natural is None:
        return "unknown"
    return "same" if own_clean or natural.output_rule == "all" else "different"


def recognised(name: str, names: tuple[str, ...], table: str) -> Setting:
    """The setting that a column's name describes; `names` are all columns of the table."""
    natural = natural_set_of(name)
    own = own_clean_column(name, names)
    if natural is not None:
        return Setting(
            name,
            "natural",
            own,
            classes_with(natural, own_clean=bool(own)),
            table=table,
            natural_set=natural.name,
        )
    if any(name == own_clean_column(other, names) for other in names):
        return Setting(name, "clean", table=table)
    if name == clean_column(names):
        return Setting(name, "clean", table=table)
    corruption = name.partition(":")[0]
    if corruption in CORRUPTIONS or corruption.startswith("s2n/") or name in suite_names():
        return Setting(name, "synthetic", own, "same", table=table, corruption=corruption)
    return Setting(name, "other", own, table=table)
