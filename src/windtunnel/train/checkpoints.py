"""Checkpoints of a training: what a later process needs to continue it, and the losses as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from windtunnel.core.errors import UserError, first_line
from windtunnel.store.atomic_files import UNFINISHED, write_whole

CHECKPOINT = "checkpoint.pt"
HISTORY = "history.csv"


def save_checkpoint(folder: Path, module: Any, optimiser: Any, losses: list[float]) -> None:
    """Write everything that a later process needs to continue, atomically."""
    unfinished = folder / f"{CHECKPOINT}{UNFINISHED}"
    state = {"module": module.state_dict(), "optimiser": optimiser.state_dict(), "losses": losses}
    torch.save(state, unfinished)
    unfinished.replace(folder / CHECKPOINT)
    write_history(folder, losses)


def write_history(folder: Path, losses: Sequence[float]) -> None:
    """Write the losses of completed epochs as CSV."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("epoch", "loss"), *enumerate(losses, start=1)])
    write_whole(folder / HISTORY, text.getvalue().encode())


def read_history(folder: Path) -> list[float]:
    """The losses of completed epochs in the CSV file."""
    history = folder / HISTORY
    if not history.exists():
        return []
    with history.open(newline="", encoding="utf-8") as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]


def load_weights(folder: Path, module: Any) -> None:
    """Give a module the weights that a worker stored."""
    state = torch.load(folder / CHECKPOINT, map_location="cpu", weights_only=True)
    module.load_state_dict(state["module"])


def resume(folder: Path, module: Any, optimiser: Any, place: torch.device) -> list[float]:
    """Load a checkpoint; returns the losses of completed epochs."""
    path = folder / CHECKPOINT
    if not path.exists():
        return []
    try:
        state = torch.load(path, map_location=place, weights_only=True)
        module.load_state_dict(state["module"])
        optimiser.load_state_dict(state["optimiser"])
        return list(state["losses"])
    except Exception as error:  # torch raises many kinds of errors for damaged files
        raise UserError(
            f"{path} cannot be loaded ({first_line(error)}); delete it to train from the start, or replace "
            "it by an intact copy."
        ) from error
