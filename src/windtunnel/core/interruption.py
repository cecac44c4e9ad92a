"""Stopping on request: the first signal lets the work in progress finish, the second stops at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
NOTICE = b"\nFinishing the work in progress; Ctrl-C again stops at once.\n"

_received: list[int] = []


class Interrupted(KeyboardInterrupt):
    """Work was stopped by a signal.

    Attributes:
        signal: its number.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.signal = number


@contextmanager
def finishing_items() -> Iterator[None]:
    """Let items in progress finish on the first signal; then raise Interrupted if one was received.

    An executor asks `stop_requested` before it starts an item. Signals reach only the main thread: in others
    nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [signal.getsignal(number) for number in SIGNALS]
    _received.clear()
    for number in SIGNALS:
        signal.signal(number, _on_signal)
    try:
        yield
        if _received:
            raise Interrupted(_received[0])
    finally:
        _received.clear()
        for number, handler in zip(SIGNALS, before, strict=True):
            signal.signal(number, handler)


def stop_requested() -> bool:
    """Whether a signal has asked to start no further item."""
    return bool(_received)


def raise_on_termination() -> None:
    """From now on SIGTERM raises Interrupted, as SIGINT raises KeyboardInterrupt."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise Interrupted(number)

    signal.signal(signal.SIGTERM, stop)


def ignore_signals() -> None:
    """Leave signals to the process that started this one: a terminal or a scheduler sends them to all."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _on_signal(number: int, _frame: FrameType | None) -> None:
    _received.append(number)
    if len(_received) > 1:
        raise Interrupted(number)
    os.write(2, NOTICE)  # the only safe way to print while anything may be in progress
