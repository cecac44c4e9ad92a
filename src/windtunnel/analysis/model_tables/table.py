"""One table of many models: their accuracies, as fractions, in several settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.records import OwnSet
from windtunnel.core.wording import listed

Role = Literal["clean", "natural", "synthetic", "other"]
Direction = Literal["higher", "lower"]
# Whether clean and shifted accuracy are over the same classes: yes, no, or unknown.
Classes = Literal["same", "different", "unknown"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """A column of a table: images on which every model has an accuracy, or another score of runs.

    Attributes:
        name: such as `imagenet-a`, `fog:3` or the header of a column.
        role: clean images, a natural shift, a synthetic one, or another dataset.
        clean: the setting of clean accuracies that belongs to it; "" if none is known.
        classes: whether that clean accuracy is over the same classes.
        images: number of images; 0 if it is not known.
        table: the file or suite that it comes from.
        corruption: the corruption whose severities belong together; "" for none.
        natural_set: the natural set of `natural.toml`; "" for none.
        own_set: the declaration of a user's own natural set.
        direction: whether higher or lower values are better.
        is_accuracy: False for other scores of runs, such as mFR, from which no clean accuracy is subtracted.
        notes: remarks on its values, a sentence each.
    """

    name: str
    role: Role = "other"
    clean: str = ""
    classes: Classes = "unknown"
    images: int = 0
    table: str = ""
    corruption: str = ""
    natural_set: str = ""
    own_set: OwnSet | None = None
    direction: Direction = "higher"
    is_accuracy: bool = True
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelTable:
    """Models x settings. Values are fractions; a missing value is NaN.

    Attributes:
        models: a unique name per row.
        settings: a unique name per column.
        values: accuracies, or other scores of settings with `is_accuracy=False`.
        attributes: further columns as text, such as `family`.
        sources: the files and folders that were read.
        notes: remarks on the reading, a sentence each.
    """

    models: tuple[str, ...]
    settings: tuple[Setting, ...]
    values: Floats
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the settings."""
        return tuple(setting.name for setting in self.settings)

    def setting(self, name: str) -> Setting:
        """The setting of that name; an unknown one is refused."""
        if name not in self.names:
            raise unknown_name("column", name, self.names)
        return self.settings[self.names.index(name)]

    def column(self, name: str) -> Floats:
        """The values of one setting, a number per model."""
        return self.values[:, self.settings.index(self.setting(name))]

    def of_role(self, role: Role) -> tuple[Setting, ...]:
        """The settings with a role."""
        return tuple(setting for setting in self.settings if setting.role == role)

    def with_models(self, kept: NDArray[np.bool_]) -> ModelTable:
        """The table of some of the models."""
        rows = np.flatnonzero(kept)
        return replace(
            self,
            models=tuple(self.models[row] for row in rows),
            values=self.values[rows],
            attributes={name: tuple(cells[row] for row in rows) for name, cells in self.attributes.items()},
        )

    def with_settings(self, change: Callable[[Setting], Setting]) -> ModelTable:
        """The table with each setting replaced by the result of a function."""
        return replace(self, settings=tuple(map(change, self.settings)))

    def drops(self, names: Sequence[str]) -> Floats:
        """Residual robustness of every model: the mean over settings of clean minus shifted accuracy.

        Lower is better. NaN for a model without one of the accuracies.
        """
        without = [name for name in names if not self.setting(name).clean]
        if without:
            raise UserError(
                f"{listed(without, 3)} has no clean accuracy; name the column of clean accuracies."
            )
        drops = [self.column(self.setting(name).clean) - self.column(name) for name in names]
        mean: Floats = np.mean(drops, axis=0)
        return mean

    def families(self, by: str = "") -> tuple[str, ...]:
        """The family of every model: a column, or the letters with which its name begins."""
        if by and by != "prefix":
            if by not in self.attributes:
                raise unknown_name("column of families", by, ["prefix", *self.attributes])
            return self.attributes[by]
        return tuple(name_prefix(model) for model in self.models)


def name_prefix(model: str) -> str:
    """The letters with which a model's name begins: `resnet` of resnet50.a1_in1k, `vit` of ViT-B-16."""
    matched = re.match(r"[A-Za-z]+", model)
    return matched[0].lower() if matched else model


def setting_key(name: str) -> str:
    """A name without its case, spaces and signs, for comparing the headers of tables."""
    return "".join(re.findall(r"[a-z0-9]+", name.lower()))


def join_tables(tables: Sequence[ModelTable]) -> ModelTable:
    """The tables side by side, joined by the models' names; a model missing from one has NaN there.

    A setting that several tables have is refused, unless it is the same column of the same benchmark and the
    tables list different models.
    """
    if len(tables) == 1:
        return tables[0]
    models = tuple(dict.fromkeys(model for table in tables for model in table.models))
    rows = {model: row for row, model in enumerate(models)}
    settings: dict[str, Setting] = {}
    columns: dict[str, Floats] = {}
    attributes: dict[str, list[str]] = {}
    for table in tables:
        places = np.array([rows[model] for model in table.models])
        for place, setting in enumerate(table.settings):
            column = columns.setdefault(setting.name, np.full(len(models), np.nan))
            given = table.values[:, place]
            twice = np.isfinite(column[places]) & np.isfinite(given) & (column[places] != given)
            if twice.any():
                raise UserError(
                    f"{listed(table.sources, 2)} and another table differ in {setting.name} of "
                    f"{table.models[int(np.flatnonzero(twice)[0])]}; rename the column in one of them, or "
                    "give one of the tables."
                )
            column[places] = np.where(np.isfinite(given), given, column[places])
            settings.setdefault(setting.name, setting)
        for name, cells in table.attributes.items():
            joined = attributes.setdefault(name, [""] * len(models))
            for place, cell in zip(places, cells, strict=True):
                joined[place] = joined[place] or cell
    shared = sum(all(model in table.models for table in tables) for model in models)
    if not shared and len({table.names for table in tables}) > 1:
        raise UserError(
            f"{listed([source for table in tables for source in table.sources], 4)} have no model in common; "
            "models are joined by name."
        )
    note = f"{len(tables)} tables joined by model: {shared:,} of {len(models):,} models are in all of them."
    return ModelTable(
        models,
        tuple(settings.values()),
        np.stack(list(columns.values()), axis=1),
        {name: tuple(cells) for name, cells in attributes.items()},
        tuple(source for table in tables for source in table.sources),
        (*(line for table in tables for line in table.notes), note),
    )
