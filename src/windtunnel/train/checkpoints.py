"""Checkpoints of a training: what a later process needs to continue it, and its history as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch

from windtunnel.core.errors import UserError, first_line
from windtunnel.store.atomic_files import UNFINISHED, write_whole

CHECKPOINT = "checkpoint.pt"
HISTORY = "history.csv"


@dataclass(frozen=True)
class EpochRow:
    """A completed epoch; what an older checkpoint does not have is NaN.

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


def save_checkpoint(
    folder: Path, modules: Mapping[str, Any], optimiser: Any, history: Sequence[EpochRow]
) -> None:
    """Write everything that a later process needs to continue, atomically.

    Args:
        folder: the training's folder.
        modules: the module as `module`, and others whose weights belong to the training.
        optimiser: its optimiser.
        history: the completed epochs.
    """
    unfinished = folder / f"{CHECKPOINT}{UNFINISHED}"
    state = {
        **{name: module.state_dict() for name, module in modules.items()},
        "optimiser": optimiser.state_dict(),
        "losses": [row.loss for row in history],
        "epochs": [[getattr(row, name) for name in COLUMNS] for row in history],
    }
    torch.save(state, unfinished)
    unfinished.replace(folder / CHECKPOINT)
    write_history(folder, history)


def write_history(folder: Path, history: Sequence[EpochRow]) -> None:
    """Write the completed epochs as CSV."""
    text = io.StringIO(newline="")
    rows = ([getattr(row, name) for name in COLUMNS] for row in history)
    numbered = ([number, *("" if math.isnan(v) else v for v in row)] for number, row in enumerate(rows, 1))
    csv.writer(text).writerows([("epoch", *COLUMNS), *numbered])
    write_whole(folder / HISTORY, text.getvalue().encode())


def read_history(folder: Path) -> list[EpochRow]:
    """The completed epochs in the CSV file."""
    history = folder / HISTORY
    if not history.exists():
        return []
    with history.open(newline="", encoding="utf-8") as file:
        return [
            EpochRow(**{name: float(row.get(name) or math.nan) for name in COLUMNS})
            for row in csv.DictReader(file)
        ]


def load_weights(folder: Path, module: Any) -> None:
    """Give a module the weights that a worker stored: the averaged ones if there are any."""
    state = torch.load(folder / CHECKPOINT, map_location="cpu", weights_only=True)
    module.load_state_dict(state.get("average", state["module"]))


def resume(folder: Path, modules: Mapping[str, Any], optimiser: Any, place: torch.device) -> list[EpochRow]:
    """Load a checkpoint into modules and optimiser; returns the completed epochs."""
    path = folder / CHECKPOINT
    if not path.exists():
        return []
    try:
        state = torch.load(path, map_location=place, weights_only=True)
        for name, module in modules.items():
            module.load_state_dict(state[name])
        optimiser.load_state_dict(state["optimiser"])
        rows = state.get("epochs") or [[loss] for loss in state["losses"]]
        return [EpochRow(*row) for row in rows]
    except Exception as error:  # torch raises many kinds of errors for damaged files
        raise UserError(
            f"{path} cannot be loaded ({first_line(error)}); delete it to train from the start, or replace "
            "it by an intact copy."
        ) from error
