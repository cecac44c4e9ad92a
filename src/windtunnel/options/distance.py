"""The options of measuring the distance between two datasets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windtunnel.options.record import Options, option_field, options_record, same_field
from windtunnel.options.run import RunOptions


@options_record
class DistanceOptions(Options):
    """The options of `distance`."""

    output: str | None = option_field(
        default=None,
        help="The network's output or inner tensor to use; default: the declared output, else the first.",
        metavar="NAME",
    )
    preprocess: str | Path | None = option_field(
        default=None,
        help="The network's preprocessing; default: NET.onnx.toml next to the network, else preset imagenet.",
        metavar="PRESET|FILE.toml",
        path="maybe",
    )
    size: int = option_field(
        default=0,
        help="Images in each compared group; 0 for half of the smaller set. A video counts as one image.",
        minimum=0,
    )
    splits: int = option_field(default=20, help="Number of random splits.", minimum=1)
    subset: int = option_field(
        default=0, help="Use only this many images of each set, stratified by class; 0 for all.", minimum=0
    )
    seed: int = option_field(default=0, help="Seed of the splits and of the subset.")
    include: Sequence[str | Path] = same_field(RunOptions, "include")
