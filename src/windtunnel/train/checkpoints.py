"""Checkpoints of a training: what a later process needs to continue it, and its history as CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

import torch

from windtunnel.core.errors import UserError, first_line
from windtunnel.store.atomic_files import UNFINISHED
from windtunnel.store.training_folder import EpochRow, write_history

CHECKPOINT = "checkpoint.pt"


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
        "epochs": [list(astuple(row)) for row in history],
    }
    torch.save(state, unfinished)
    unfinished.replace(folder / CHECKPOINT)
    write_history(folder, history)


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
