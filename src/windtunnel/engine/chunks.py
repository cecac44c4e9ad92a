"""Chunks: ranges of images, the work items of runs and made sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from windtunnel.core.samples import Surveyed

T = TypeVar("T")

# Predictions per shard: an interruption loses some seconds of work, and files stay small.
PREDICTIONS_PER_SHARD = 2048
MAX_CHUNK = 512
# Small datasets have smaller shards, so that workers share them evenly.
MIN_SHARDS = 16


@dataclass(frozen=True)
class Chunk:
    """A range of images that is processed and stored as one shard."""

    name: str
    images: tuple[Surveyed, ...]

    @property
    def description(self) -> str:
        """What it is, in an error message."""
        return f"the images from {self.images[0].sample.id} to {self.images[-1].sample.id}"


@dataclass(frozen=True)
class RunChunk(Chunk):
    """A chunk of one or several runs over the same images.

    Attributes:
        number: its position in every run.
        runs: the numbers of the runs whose shard is missing.
    """

    number: int = 0
    runs: tuple[int, ...] = (0,)

    def of(self, works: Sequence[T]) -> list[T]:
        """The works, models or other things of the runs whose shard is missing."""
        return [works[run] for run in self.runs]


def chunk_size(images: int, views: int) -> int:
    """Images per shard of a run; independent of the number of workers."""
    return max(1, min(MAX_CHUNK, PREDICTIONS_PER_SHARD // views, -(-images // MIN_SHARDS)))
