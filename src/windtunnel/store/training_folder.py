"""The folder of a training: its recipe, and its history with a row for each completed epoch.

Reading it does not need torch.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields

from windtunnel.core.errors import UserError, first_line
from windtunnel.core.locations import Location, location_of
from windtunnel.core.records import RecordError, read_record
from windtunnel.core.training_records import TrainingRecipe
from windtunnel.store.atomic_files import write_whole
from windtunnel.store.recipe_folder import FolderKind, RecipeFolder

PARTS = {
    "module": "module",
    "data": "data",
    "preprocess": "preprocess",
    "settings": "settings",
    "mix": "mix",
    "augmentation": "augmentation",
    "remedies": "remedies",
}
TRAINING = FolderKind("training", "training.json", 2, PARTS)
HISTORY = "history.csv"


@dataclass(frozen=True)
class EpochRow:
    """A completed epoch; what was not measured is NaN.

    Attributes:
        loss: the mean over images.
        learning_rate: that of its first step.
        seconds: its duration.
        accuracy: the share of training images classified correctly in the step that used them.
    """

    loss: float
    learning_rate: float = math.nan
    seconds: float = math.nan
    accuracy: float = math.nan


COLUMNS = tuple(field.name for field in fields(EpochRow))


@dataclass(frozen=True)
class StoredTraining:
    """A training as its folder stores it, finished or not."""

    folder: Location
    recipe: TrainingRecipe
    history: tuple[EpochRow, ...]

    @property
    def is_finished(self) -> bool:
        """Whether all epochs of the recipe are completed."""
        return len(self.history) >= self.recipe.settings.epochs


def is_training(path: str | Location) -> bool:
    """Whether a path is the folder of a training."""
    return RecipeFolder(location_of(path), TRAINING).recipe_path.is_file()


def open_training(path: str | Location) -> StoredTraining:
    """The training in a folder."""
    folder = location_of(path)
    return StoredTraining(folder, read_training(folder), tuple(read_history(folder)))


def read_training(path: Location) -> TrainingRecipe:
    """The recipe in the folder of a training; refuses a damaged file and another schema version."""
    folder = RecipeFolder(path, TRAINING)
    try:
        return read_record(folder.read_recipe_file().get("recipe"), TrainingRecipe)
    except RecordError as error:
        raise folder.damaged(error) from error


def write_history(folder: Location, history: Sequence[EpochRow]) -> None:
    """Write the completed epochs as CSV; a cell that was not measured is empty."""
    text = io.StringIO(newline="")
    rows = [["" if math.isnan(value) else value for value in astuple(row)] for row in history]
    csv.writer(text).writerows([("epoch", *COLUMNS), *([number, *row] for number, row in enumerate(rows, 1))])
    write_whole(folder / HISTORY, text.getvalue().encode())


def read_history(folder: Location) -> list[EpochRow]:
    """The completed epochs in the CSV file; none without a file."""
    file = folder / HISTORY
    if not file.exists():
        return []
    rows = csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"), newline=""))
    try:
        return [
            EpochRow(float(row["loss"]), *(float(row.get(name) or math.nan) for name in COLUMNS[1:]))
            for row in rows
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{file} is not the history of a training ({first_line(error)}); delete it and repeat the call "
            "that trained, which writes it again."
        ) from error
