"""Processes that do work: how they are started, and the threads of their numeric libraries."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

from windtunnel.core.errors import UserError


def single_threaded() -> None:
    """Restrict the numeric libraries of this process to one thread, so that workers do not compete."""
    import cv2

    cv2.setNumThreads(1)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


@contextmanager
def opencv_on_one_thread() -> Iterator[None]:
    """Restrict OpenCV to one thread while working in the caller's process; restores the number of threads."""
    import cv2

    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before)


def start_uninterruptible(process: BaseProcess) -> None:
    """Start a process in which SIGINT is blocked from its first instruction; its parent stops it.

    A terminal sends Ctrl-C to workers too: one that is still importing would print a traceback. Here SIGINT
    is only delayed until the process is started.
    """
    if sys.platform == "win32":
        process.start()
        return
    resource_tracker.ensure_running()  # started by the first process otherwise, which unblocks SIGINT here
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent() -> None:
    """End this process as soon as its parent has ended, in the middle of an item too.

    A worker that outlives a killed parent would write to a folder that the next command continues.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def refuse_unguarded_script() -> None:
    """Refuse work in a worker that is running the user's script again, because the script is not guarded."""
    # The attribute by which multiprocessing itself recognises this state.
    if getattr(multiprocessing.process.current_process(), "_inheriting", False):
        raise UserError(
            "Worker processes import the script that starts them; put its work under "
            '`if __name__ == "__main__":`.'
        )
