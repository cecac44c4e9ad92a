"""Report trainings: learning curves, recipes and epochs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windtunnel.core.errors import UserError
from windtunnel.core.locations import Location, location_of
from windtunnel.report.training import write_trainings_page
from windtunnel.store.training_folder import StoredTraining, is_training, open_training


def open_trainings(folders: Sequence[str | Path]) -> list[StoredTraining]:
    """The trainings in folders; refuses other folders."""
    for folder in folders:
        if not is_training(folder):
            raise UserError(
                f"{folder} is not the folder of a training; give folders of trainings only, or folders of "
                "runs only."
            )
    return [open_training(folder) for folder in folders]


def write_training_page(trainings: Sequence[StoredTraining], file: str | Location) -> Location:
    """Write the HTML page of one or more trainings: learning curves, recipes, epochs.

    Args:
        trainings: as `open_trainings` returns them.
        file: the page to write.
    """
    return write_trainings_page(trainings, location_of(file))
