"""The options of sample images of a corruption or sequence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windtunnel.options.record import Options, option_field, options_record, same_field
from windtunnel.options.run import RunOptions


@options_record
class ShowOptions(Options):
    """The options of `show`."""

    image: str | Path | None = option_field(
        default=None, help="The image to modify; default: a scene drawn by windtunnel.", metavar="FILE"
    )
    seed: int = same_field(RunOptions, "seed")
    edition: int = option_field(default=224, help="Edition of the parameters: 32, 64, 224 or 299.")
    difficulty: int | None = option_field(
        default=None, help="Difficulty of a noise sequence: 1, 2 or 3; higher means stronger noise."
    )
    include: Sequence[str | Path] = same_field(RunOptions, "include")
