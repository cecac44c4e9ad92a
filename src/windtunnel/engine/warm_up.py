"""Compilation of what conditions need, in a process of its own."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Sequence
from pathlib import Path

from windtunnel.core.conditions import Condition
from windtunnel.engine.condition_kinds import warm_up
from windtunnel.engine.worker_processes import start_uninterruptible
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent reports an interruption
    include_files(includes)
    warm_up(conditions)
