"""Progress of long work: the protocol that every long operation reports to."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives the number of items finished since the last call.

    Functions with these parameters and progress bars (`core/progress_bar.py`) follow it.
    """

    def __call__(self, done: int, total: int, failed: int = 0, /) -> None:
        """Add `done` finished items of `total`, of which `failed` have failed.

        Both are negative if a worker was lost and the items of its unfinished chunk are repeated.
        """


def silent(done: int, total: int, failed: int = 0, /) -> None:
    """Ignore progress."""
