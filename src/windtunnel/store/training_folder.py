"""The folder of a training: its recipe, and its history with a row for each completed epoch.

Reading it does not need torch.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from windtunnel.core.errors import UserError
from windtunnel.core.locations import Location
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
}
TRAINING = FolderKind("training", "training.json", 2, PARTS)
HISTORY = "history.csv"


@dataclass(frozen=True)
class Epoch:
    """Facts of one completed epoch; those that were not measured are None.

    Attributes:
        epoch: its number, from 1.
        loss: mean loss over training images.
        accuracy: share of training images whose largest score is at the largest target, as the loss saw them:
            augmented, mixed or attacked, with the weights of the moment.
        learning_rate: in its first step.
        seconds: its duration.
    """

    epoch: int
    loss: float
    accuracy: float | None = None
    learning_rate: float | None = None
    seconds: float | None = None


COLUMNS = tuple(field.name for field in fields(Epoch))


def read_training(path: Location) -> TrainingRecipe:
    """The recipe in the folder of a training; refuses a damaged file and another schema version."""
    folder = RecipeFolder(path, TRAINING)
    try:
        return read_record(folder.read_recipe_file().get("recipe"), TrainingRecipe)
    except RecordError as error:
        raise folder.damaged(error) from error


def write_history(folder: Location, epochs: Sequence[Epoch]) -> None:
    """Write the completed epochs as CSV."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows(asdict(epoch) for epoch in epochs)
    write_whole(folder / HISTORY, text.getvalue().encode())


def read_history(folder: Location) -> list[Epoch]:
    """The completed epochs in the CSV file; none if there is no file."""
    file = folder / HISTORY
    if not file.exists():
        return []
    rows = csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"), newline=""))
    try:
        return [
            Epoch(int(row["epoch"]), float(row["loss"]), *(_number(row.get(name)) for name in COLUMNS[2:]))
            for row in rows
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{file} is not a history of a training ({error}); delete it, and repeat the call that trained, "
            "which writes it again."
        ) from error


def _number(cell: str | None) -> float | None:
    """The finite number in a cell; None for an empty or missing one."""
    number = float(cell) if cell else None
    return number if number is None or math.isfinite(number) else None
