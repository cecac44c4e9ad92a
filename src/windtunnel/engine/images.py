"""Images at every stage of a geometry, decoded at most once, and the frames of sequences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import numpy as np

from windtunnel.core.errors import ImageError, RunFailed
from windtunnel.core.images import Image, Stage
from windtunnel.core.samples import Sample, Surveyed
from windtunnel.core.seeding import Draws
from windtunnel.data import Dataset, content_hash
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.geometry import (
    Geometry,
    colour_step,
    crop_step,
    decode_step,
    finish,
    kept_window,
    resize_step,
    same_decoding,
)
from windtunnel.imaging.header import Header, check_unit_size, read_header
from windtunnel.sequences import Perturbation

# An image as decoded, resized and cropped: the stages at which units act.
Stages = tuple[Image, Image, Image]


def stages_of(source: Image, geometry: Geometry) -> Stages:
    """A decoded image at every stage of a geometry."""
    resized = np.require(resize_step(source, geometry), requirements=["C", "W"])
    return source, resized, np.require(crop_step(resized, geometry), requirements=["C", "W"])


def clip_of(
    unit: Perturbation, stages: Stages, rng: Draws, difficulty: int, edition: int, geometry: Geometry
) -> Iterator[Image]:
    """The frames of a sequence on the geometry's canvas, made at the stage where the sequence acts."""
    stage = unit.table(edition).stage
    image = dict(zip(get_args(Stage), stages, strict=True))[stage]
    check_unit_size(image, stage)
    for frame in unit.apply(image, rng, difficulty, edition, kept_window(image, stage, geometry)):
        yield np.ascontiguousarray(finish(frame, stage, geometry))


class Source:
    """One image, decoded and resized at most once per geometry."""

    def __init__(self, dataset: Dataset, image: Surveyed) -> None:
        self._dataset = dataset
        self.precomputed = dataset.precomputed
        self._image = image
        self._content: bytes | Image | None = None
        self._last: tuple[Geometry, Image] | None = None
        self._steps: dict[Geometry, Stages | ImageError] = {}

    @property
    def sample(self) -> Sample:
        """The image in its dataset."""
        return self._image.sample

    def canvas(self, geometry: Geometry) -> Image | None:
        """The canvas without any modification, or None if it cannot be made."""
        try:
            return self.stages(geometry)[2]
        except ImageError:
            return None

    def stages(self, geometry: Geometry) -> Stages:
        """The image at every stage of a geometry; raises `ImageError` every time if it cannot be made."""
        if geometry not in self._steps:
            try:
                source = np.require(self.decoded(geometry), requirements=["C", "W"])
                self._steps[geometry] = stages_of(source, geometry)
            except ImageError as error:
                self._steps[geometry] = error
        made = self._steps[geometry]
        if isinstance(made, ImageError):
            raise made
        return made

    def decoded(self, geometry: Geometry) -> Image:
        """The whole image by a geometry's decoder and colour path, before any resize."""
        if self._image.status != "ok":
            raise ImageError(self._image.status, self._image.reason)
        # Only the last pixels are cached: a large image by every decoder would fill the memory.
        if self._last is None or not same_decoding(self._last[0], geometry):
            self._last = None  # frees the memory before the next pixels are made
            self._last = geometry, decode_step(self._read(), geometry, self._header())
        return colour_step(self._last[1], geometry)

    def _header(self) -> Header | None:
        """The header as the survey read it."""
        surveyed = self._image
        return (
            Header(surveyed.format, surveyed.width, surveyed.height, surveyed.orientation)
            if surveyed.format
            else None
        )

    def _read(self) -> bytes | Image:
        """The content of the image; stops the run if it has changed or is missing since the survey."""
        if self._content is None:
            id_ = self._image.sample.id
            try:
                self._content = self._dataset.read(self._image.sample)
            except ImageError as error:
                raise RunFailed(
                    f"{id_} could be read when the run began but cannot be read now: {error.reason}"
                ) from error
            if content_hash(self._content) != self._image.content:
                raise RunFailed(f"{id_} has changed since the run began")
        return self._content


def as_image(content: bytes | Image) -> Image:
    """The pixels of a precomputed image, decoded without any other change."""
    if isinstance(content, bytes):
        content = decode(content, read_header(content))
    return np.require(content, requirements=["C", "W"])
