"""The options of fine-tuning a filter model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windtunnel.options.record import Options, option_field, options_record, same_field
from windtunnel.options.run import RunOptions


@options_record
class FineTuneOptions(Options):
    """The options of `curate fine-tune`."""

    classes: str | Path | None = option_field(
        default=None,
        help="The classes of the fine-tuned model: a file with a class name or WordNet id in every line. "
        "Default: the classes of the candidates.",
        metavar="FILE",
        path="file",
    )
    epochs: int = option_field(default=5, help="Passes over the training images.", minimum=1)
    learning_rate: float = option_field(
        default=0.01, help="The learning rate at the start; it follows a cosine to 0.", metavar="RATE"
    )
    batch: int = option_field(default=64, help="Images per step.", minimum=2)
    no_mirror: bool = option_field(default=False, help="Never mirror training images, for text and digits.")
    seed: int = option_field(default=0, help="Seed of crops, order and new weights.")
    include: Sequence[str | Path] = same_field(RunOptions, "include")
