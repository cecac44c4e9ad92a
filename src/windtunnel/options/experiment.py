"""The options of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windtunnel.options.overlap import OverlapOptions
from windtunnel.options.record import Options, options_record, same_field
from windtunnel.options.run import RunOptions


@options_record
class ExperimentOptions(Options):
    """The options of `experiment`; everything else is in its file."""

    device: str = same_field(OverlapOptions, "device")
    workers: int | None = same_field(RunOptions, "workers")
    executor: str | None = same_field(RunOptions, "executor")
    address: str | None = same_field(RunOptions, "address")
    include: Sequence[str | Path] = same_field(RunOptions, "include")
