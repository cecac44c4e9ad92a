"""Stopping on request: the first signal lets the work in progress finish, the second stops at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
NOTICE = b"\nFinishing the work in progress; Ctrl-C again stops at once.\n"

_received: list[int] = []
_notice: Callable[[int], bytes] = lambda _number: NOTICE  # noqa: E731


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

    An executor asks `stop_requested` before it starts an item. Signals reach only the main thread; work in
    another thread stops with the work of the main one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        if _received:
            raise Interrupted(_received[0])
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    # A signal that is ignored, as in background jobs, stays ignored; None is a handler outside Python.
    handled = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    _received.clear()
    for number in handled:
        signal.signal(number, _on_signal)
    try:
        yield
        if _received:
            raise Interrupted(_received[0])
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        _received.clear()


def announce_with(notice: Callable[[int], bytes]) -> None:
    """Write other bytes to standard error on the first signal, such as an event of a log."""
    global _notice
    _notice = notice


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
    with suppress(OSError):  # standard error may be closed
        os.write(2, _notice(number))  # the only safe way to print while anything may be in progress
