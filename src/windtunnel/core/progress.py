"""The progress of long work: one protocol for everything that takes time."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives what long work has finished since the last call.

    A function with these parameters is one, and so is a progress bar (`core/progress_bar.py`).
    """

    def __call__(self, done: int, total: int, failed: int = 0, /) -> None:
        """Count `done` more finished items of `total`, and `failed` more of them that failed.

        Both are negative if a worker was lost and the items of its unfinished chunk are done again.
        """


def silent(done: int, total: int, failed: int = 0, /) -> None:
    """Report progress to nobody."""
