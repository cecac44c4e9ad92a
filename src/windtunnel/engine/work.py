"""What every chunk of a run has in common."""

from __future__ import annotations

from dataclasses import dataclass

from windtunnel.core.task import Postprocessor, Task
from windtunnel.engine.pixels import PixelWork


@dataclass(frozen=True)
class Work:
    """The images that a model is shown, and how its outputs become rows.

    Attributes:
        pixels: the images.
        task: what the model predicts.
        postprocessor: how outputs become columns.
        keep: names of the conditions whose outputs are stored.
        strict: whether the first image that cannot be scored stops the run.
    """

    pixels: PixelWork
    task: Task
    postprocessor: Postprocessor
    keep: tuple[str, ...]
    strict: bool
