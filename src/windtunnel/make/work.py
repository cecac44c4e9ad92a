"""One chunk of a set: its images, made under every pending condition and written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import ImageError, RunFailed
from windtunnel.core.images import Image
from windtunnel.core.locations import Location
from windtunnel.core.samples import Surveyed
from windtunnel.data import Dataset
from windtunnel.engine.chunks import Chunk
from windtunnel.engine.condition_kinds import frames_before_codec
from windtunnel.engine.images import Source
from windtunnel.engine.jobs import Advance, ItemFunction, Needs
from windtunnel.imaging.geometry import Geometry
from windtunnel.imaging.header import pillow_quiet
from windtunnel.make.annotations import MovedAnnotations
from windtunnel.make.imagenet_s import training_image
from windtunnel.make.layouts import Layout, Made, Piece


@dataclass(frozen=True)
class Making:
    """The job of a worker: make the pending conditions of a chunk's images and write them.

    Attributes:
        dataset: the source images.
        geometry: how they become canvases.
        seed: seed of every random draw.
        layout: how they are stored.
        root: the set's folder.
        names: names of the images in the set, by id.
        split: `val` for canvases, `train` for random resized crops.
        pending: the conditions to make, by chunk.
        annotations: the annotations to move with the pixels, or None.
        needs: the user's plug-ins, the source images and the set's folder.
    """

    dataset: Dataset
    geometry: Geometry
    seed: int
    layout: Layout
    root: Location
    names: dict[str, str]
    split: str
    pending: dict[str, tuple[Condition, ...]]
    annotations: MovedAnnotations | None
    needs: Needs

    def begin(self) -> ItemFunction[Chunk]:
        """Nothing has to be loaded."""
        return self.make

    def make(self, chunk: Chunk, advance: Advance) -> list[Piece]:
        """Make and write every pending image of a chunk; returns the pieces that were written."""
        try:
            with pillow_quiet():
                pieces = self.layout.write(self.root, self._images(chunk, advance))
                if self.annotations:
                    pieces += self.annotations.write(self.root, chunk, self.pending[chunk.name])
                return pieces
        except ConnectionError:
            raise  # the parent process has ended
        except OSError as error:
            raise RunFailed(f"{self.root} cannot be written: {error.strerror or error}") from error

    def _images(self, chunk: Chunk, advance: Advance) -> Iterator[Made]:
        for image in chunk.images:
            source = Source(self.dataset, image)
            for condition in self.pending[chunk.name]:
                yield self.names[image.sample.id], condition, self._canvases(source, image, condition)
            advance(sum(condition.frames for condition in self.pending[chunk.name]), 0)

    def _canvases(self, source: Source, image: Surveyed, condition: Condition) -> Iterator[Image]:
        id_, geometry = image.sample.id, replace(self.geometry, **condition.geometry_changes)
        try:
            if self.split == "train":
                yield training_image(source.decoded(geometry), geometry, id_, self.seed)
            else:
                yield from frames_before_codec(source, condition, geometry, self.seed)
        except ImageError as error:
            raise RunFailed(f"{id_} could be read before but cannot be read now: {error.reason}") from error
