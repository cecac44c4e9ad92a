"""A limit on what all threads of a process allocate together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class MemoryGate:
    """Lets threads in as long as what they hold together stays below a limit."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._held_bytes = 0
        self._changed = Condition()

    @contextmanager
    def holding(self, count_bytes: int) -> Iterator[None]:
        """Wait until so many bytes fit under the limit, or nobody else holds any."""
        with self._changed:
            self._changed.wait_for(
                lambda: not self._held_bytes or self._held_bytes + count_bytes <= self._limit_bytes
            )
            self._held_bytes += count_bytes
        try:
            yield
        finally:
            with self._changed:
                self._held_bytes -= count_bytes
                self._changed.notify_all()
