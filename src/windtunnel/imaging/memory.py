"""A limit on the memory that all threads of a process allocate together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class MemoryGate:
    """Admits threads while the memory that they use together stays below a limit."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._held_bytes = 0
        self._changed = Condition()

    @contextmanager
    def holding(self, count_bytes: int) -> Iterator[None]:
        """Wait until `count_bytes` fit under the limit, or no other thread uses any."""
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
