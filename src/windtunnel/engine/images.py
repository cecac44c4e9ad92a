"""Images under conditions: each decoded once per geometry, then spoilt, stored and read again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import ImageError, RunFailed
from windtunnel.core.images import Image, Stage
from windtunnel.core.samples import Surveyed
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import REGISTRY
from windtunnel.data import Dataset, content_hash
from windtunnel.data.precomputed import stored_size
from windtunnel.imaging.clips import clip_round_trip, whole_clip
from windtunnel.imaging.codecs import round_trip
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.geometry import (
    Geometry,
    colour_step,
    crop_step,
    decode_step,
    decodes_alike,
    finish,
    kept_window,
    resize_step,
)
from windtunnel.imaging.header import Header, check_unit_size, read_header
from windtunnel.sequences import Perturbation, has_any_aspect, sequence_of

# An image as it is decoded, resized and cropped: what units can act on.
Stages = tuple[Image, Image, Image]


def geometry_under(condition: Condition, canvas: Geometry) -> Geometry:
    """How a condition's canvas is made: as all of a suite's are, or with one step swapped."""
    changed: dict[str, Any] = dict(condition.geometry) if condition.kind == "pipeline" else {}
    return replace(canvas, **changed)


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
        self._finished = dataset.precomputed
        self._image = image
        self._content: bytes | Image | None = None
        self._last: tuple[Geometry, Image] | None = None
        self._steps: dict[Geometry, Stages | ImageError] = {}

    def under(self, condition: Condition, geometry: Geometry, seed: int) -> Image:
        """The image under a condition, before it is fitted to the model."""
        if condition.kind == "corruption" and self._finished:
            # Somebody has corrupted it already: it is decoded, and nothing else.
            sample = self._image.sample
            return _as_image(self._finished.read_under(sample, condition.unit, condition.level))
        return round_trip(self.before_codec(condition, geometry, seed), condition.codec)

    def frames_under(self, condition: Condition, geometry: Geometry, seed: int) -> Iterator[Image]:
        """The images a condition makes of this one, each when it is asked for."""
        if condition.kind != "sequence":
            yield self.under(condition, geometry, seed)
        elif self._finished:
            stored = self._finished.read_clip(self._image.sample, condition.unit, condition.level)
            size, free = stored_size(condition), has_any_aspect(condition)
            yield from whole_clip(map(_as_image, stored), condition.frames, size, any_aspect=free)
        else:
            type_ = sequence_of(condition).type
            yield from clip_round_trip(self.clip(condition, geometry, seed), condition.codec, type_)

    def frames_before_codec(self, condition: Condition, geometry: Geometry, seed: int) -> Iterator[Image]:
        """The images a condition makes of this one, before they are stored."""
        if condition.kind == "sequence":
            yield from self.clip(condition, geometry, seed)
        else:
            yield self.before_codec(condition, geometry, seed)

    def clip(self, condition: Condition, geometry: Geometry, seed: int) -> Iterator[Image]:
        """The frames of a sequence, before they are stored."""
        unit = sequence_of(condition)
        difficulty = condition.level or 1
        rng = unit.draws(seed, self._image.sample.id, difficulty)
        return clip_of(unit, self._made(geometry), rng, difficulty, condition.edition, geometry)

    def before_codec(self, condition: Condition, geometry: Geometry, seed: int) -> Image:
        """The image under a condition, before it is stored."""
        if condition.kind == "pipeline":
            # Nobody else asks for this geometry; keeping it would only fill the memory.
            return np.ascontiguousarray(crop_step(resize_step(self.decoded(geometry), geometry), geometry))
        source, resized, canvas = self._made(geometry)
        if condition.kind == "corruption":
            stages = dict(zip(get_args(Stage), (source, resized, canvas), strict=True))
            check_unit_size(stages[condition.stage], condition.stage)
            unit = REGISTRY.get(condition.unit)
            rng = unit.draws(seed, self._image.sample.id, condition.level)
            if condition.stage == "source":
                spoilt = unit.apply(source, rng, condition.level, condition.edition, condition.settings)
                canvas = crop_step(resize_step(spoilt, geometry), geometry)
            elif condition.stage == "resized":
                canvas = crop_step(
                    unit.apply(resized, rng, condition.level, condition.edition, condition.settings), geometry
                )
            else:
                canvas = unit.apply(canvas, rng, condition.level, condition.edition, condition.settings)
        return np.ascontiguousarray(canvas)

    def canvas(self, geometry: Geometry) -> Image | None:
        """The image as nothing was done to it, or None where it cannot be made."""
        try:
            return self._made(geometry)[2]
        except ImageError:
            return None

    def _made(self, geometry: Geometry) -> Stages:
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
        # Only the last pixels are kept: a large image by every decoder would fill the memory.
        if self._last is None or not decodes_alike(self._last[0], geometry):
            self._last = None  # while the next pixels are made, the last ones would only take memory
            self._last = geometry, decode_step(self._read(), geometry, self._header())
        return colour_step(self._last[1], geometry)

    def _header(self) -> Header | None:
        """What the survey has read of the header."""
        found = self._image
        return Header(found.format, found.width, found.height, found.orientation) if found.format else None

    def _read(self) -> bytes | Image:
        """The image as it was surveyed; one changed or gone since stops the run."""
        if self._content is None:
            id_ = self._image.sample.id
            try:
                self._content = self._dataset.read(self._image.sample)
            except ImageError as error:
                raise RunFailed(
                    f"{id_} could be read when the run began and cannot now: {error.reason}"
                ) from error
            if content_hash(self._content) != self._image.content:
                raise RunFailed(f"{id_} has changed since the run began")
        return self._content


def _as_image(content: bytes | Image) -> Image:
    """A finished image's pixels: decoded, and nothing else."""
    if isinstance(content, bytes):
        content = decode(content, read_header(content))
    return np.require(content, requirements=["C", "W"])
