"""A number that several processes share."""

from __future__ import annotations

import multiprocessing
import multiprocessing.context
from typing import Any


class SharedNumber:
    """A number in shared memory, whose changes are visible in running worker processes.

    Child processes share the memory, by fork or by spawn. Any other copy has the number at the time of the
    copy.
    """

    def __init__(self, start: Any) -> None:
        self._memory = multiprocessing.RawValue("q", start) if isinstance(start, int) else start

    @property
    def value(self) -> int:
        """The current number."""
        return int(self._memory.value)

    @value.setter
    def value(self, value: int) -> None:
        self._memory.value = value

    def __reduce__(self) -> tuple[type[SharedNumber], tuple[Any]]:
        starting_a_child = multiprocessing.context.get_spawning_popen() is not None
        return SharedNumber, (self._memory if starting_a_child else self.value,)
