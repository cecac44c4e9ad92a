"""timm's result tables: one file per set, joined by model and image size; see public_tables.toml."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from windtunnel.analysis.model_tables.recognised_names import classes_with
from windtunnel.analysis.model_tables.table import ModelTable, Setting
from windtunnel.analysis.public_models import (
    NEEDED,
    Key,
    PublicTable,
    known_tables,
    read_table,
    refuse_clean_table,
)
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.wording import listed
from windtunnel.published.natural_sets import natural_set


def is_timm_header(header: Sequence[str]) -> bool:
    """Whether a header is that of one of timm's tables."""
    return set(NEEDED) <= set(header)


def is_timm_folder(path: Path) -> bool:
    """Whether a folder has results on at least one natural set."""
    return path.is_dir() and any((path / facts.shifted).is_file() for facts in known_tables().values())


def read_timm_results(path: Path, units: Sequence[str]) -> ModelTable:
    """The natural sets of a folder, or of one file of it, each with its clean accuracies.

    Clean accuracies are those on the same classes if the folder has them.
    """
    if "fraction" in units:
        raise UserError(f"{path} is in per cent, as all of timm's results; leave out {option('unit')}.")
    folder = path if path.is_dir() else path.parent
    if path.is_file():
        refuse_clean_table(path)
    sets = {
        name: facts
        for name, facts in known_tables().items()
        if (folder / facts.shifted).is_file() and path in (folder, folder / facts.shifted)
    }
    if not sets:
        raise UserError(
            f"{path} is no known table of results; give one of "
            f"{listed([facts.shifted for facts in known_tables().values()])}, or their folder."
        )
    columns: dict[str, PublicTable] = {}
    settings: dict[str, Setting] = {}
    for name, facts in sets.items():
        own = facts.same_classes if facts.same_classes and (folder / facts.same_classes).is_file() else ""
        clean = f"{name} clean" if own else "imagenet"
        if not (folder / (own or facts.clean)).is_file():
            raise UserError(f"{folder} has no {facts.clean}, the clean results of {facts.shifted}; add it.")
        if clean not in columns:
            columns[clean] = read_table(folder / (own or facts.clean))
            settings[clean] = Setting(clean, "clean", images=facts.clean_images, table=own or facts.clean)
        columns[name] = read_table(folder / facts.shifted)
        settings[name] = Setting(
            name,
            "natural",
            clean,
            classes_with(natural_set(name), own_clean=bool(own)),
            facts.images,
            facts.shifted,
            natural_set=name,
            notes=tuple(
                f"{model} has no pair of accuracies on {name}: {reason}."
                for model, reason in facts.absent.items()
            ),
        )
    keys = list(dict.fromkeys(key for table in columns.values() for key in table.rows))
    # Clean results that belong to one set only come after those of all images.
    order = sorted(columns, key=lambda name: (settings[name].role != "clean", name != "imagenet"))
    values = np.array([[_top1(columns[name], key) for name in order] for key in keys])
    return ModelTable(
        tuple(_names(keys)),
        tuple(settings[name] for name in order),
        values,
        _attributes(keys, columns.values()),
        (str(path),),
    )


def _top1(table: PublicTable, key: Key) -> float:
    return table.rows[key].top1 if key in table.rows else np.nan


def _names(keys: Sequence[Key]) -> list[str]:
    """A unique name per row: the model, with its image size if it is listed at several."""
    models = [model for model, _ in keys]
    repeated = (
        {model for model in set(models) if models.count(model) > 1}
        if len(set(models)) < len(models)
        else set()
    )
    return [f"{model} at {size} px" if model in repeated else model for model, size in keys]


def _attributes(keys: Sequence[Key], tables: Iterable[PublicTable]) -> dict[str, tuple[str, ...]]:
    rows = {key: row for table in tables for key, row in table.rows.items()}
    return {
        "architecture": tuple(model.partition(".")[0] for model, _ in keys),
        "img_size": tuple(str(size) for _, size in keys),
        "parameters": tuple(str(rows[key].parameters or "") for key in keys),
    }
