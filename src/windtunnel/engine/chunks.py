"""Chunks: ranges of images, the work items of runs and made sets."""

from __future__ import annotations

from dataclasses import dataclass

from windtunnel.core.samples import Surveyed


@dataclass(frozen=True)
class Chunk:
    """A range of images that is worked on and stored as one."""

    name: str
    images: tuple[Surveyed, ...]

    @property
    def description(self) -> str:
        """What it is, in an error message."""
        return f"the images from {self.images[0].sample.id} to {self.images[-1].sample.id}"
