"""Compilation of what conditions need, in a process of its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from pathlib import Path

from windtunnel.core.conditions import Condition
from windtunnel.core.interruption import ignore_signals
from windtunnel.engine.condition_kinds import warm_up
from windtunnel.engine.process_start import start_uninterruptible
from windtunnel.suites.inclusion import include_files


def warm_up_apart(conditions: Sequence[Condition], includes: Sequence[Path]) -> None:
    """Compile and cache every unit of the conditions in a separate process.

    A process that only distributes work needs no compiled code in its memory.
    """
    process = multiprocessing.get_context("spawn").Process(
        target=_warm_up_with, args=(tuple(conditions), tuple(includes))
    )
    start_uninterruptible(process)
    try:
        process.join()
    finally:
        process.kill()


def _warm_up_with(conditions: Sequence[Condition], includes: Sequence[Path]) -> None:
    ignore_signals()
    include_files(includes)
    warm_up(conditions)
