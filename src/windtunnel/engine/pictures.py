"""Pictures under conditions: each decoded once per geometry, then spoilt, stored and read again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from windtunnel.conditions import Condition
from windtunnel.corruptions import REGISTRY
from windtunnel.data import Dataset, content_hash
from windtunnel.data.finished import FinishedDataset
from windtunnel.data.survey import Surveyed
from windtunnel.errors import PictureError, RunFailed
from windtunnel.imaging import Image
from windtunnel.imaging.codecs import round_trip
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.geometry import (
    Geometry,
    colour_step,
    crop_step,
    decode_step,
    decodes_alike,
    resize_step,
)
from windtunnel.imaging.header import Header, read_header


def geometry_under(condition: Condition, canvas: Geometry) -> Geometry:
    """How a condition's canvas is made: as all of a suite's are, or with one step swapped."""
    changed: dict[str, Any] = dict(condition.geometry) if condition.kind == "pipeline" else {}
    return replace(canvas, **changed)


class Source:
    """One picture, decoded and resized at most once per geometry."""

    def __init__(self, dataset: Dataset, picture: Surveyed) -> None:
        self._dataset = dataset
        self._finished = dataset if isinstance(dataset, FinishedDataset) else None
        self._picture = picture
        self._content: bytes | Image | None = None
        self._last: tuple[Geometry, Image] | None = None
        self._steps: dict[Geometry, tuple[Image, Image, Image] | PictureError] = {}

    def under(self, condition: Condition, geometry: Geometry, seed: int) -> Image:
        """The picture under a condition, before it is fitted to the model."""
        if condition.kind == "corruption" and self._finished:
            return self._stored(self._finished, condition)
        return round_trip(self.before_codec(condition, geometry, seed), condition.codec)

    def before_codec(self, condition: Condition, geometry: Geometry, seed: int) -> Image:
        """The picture under a condition, before it is stored."""
        if condition.kind == "pipeline":
            # Nobody else asks for this geometry; keeping it would only fill the memory.
            return np.ascontiguousarray(crop_step(resize_step(self.decoded(geometry), geometry), geometry))
        source, resized, canvas = self._made(geometry)
        if condition.kind == "corruption":
            unit = REGISTRY.get(condition.unit)
            rng = unit.draws(seed, self._picture.sample.id, condition.level)
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
        """The picture as nothing was done to it, or None where it cannot be made."""
        try:
            return self._made(geometry)[2]
        except PictureError:
            return None

    def _stored(self, dataset: FinishedDataset, condition: Condition) -> Image:
        """A canvas that somebody has already corrupted: decoded, and nothing else."""
        content = dataset.read_under(self._picture.sample, condition.unit, condition.level)
        if isinstance(content, bytes):
            content = decode(content, read_header(content))
        return np.require(content, requirements=["C", "W"])

    def _made(self, geometry: Geometry) -> tuple[Image, Image, Image]:
        if geometry not in self._steps:
            try:
                self._steps[geometry] = self._make(geometry)
            except PictureError as error:
                self._steps[geometry] = error
        made = self._steps[geometry]
        if isinstance(made, PictureError):
            raise made
        return made

    def _make(self, geometry: Geometry) -> tuple[Image, Image, Image]:
        source = np.require(self.decoded(geometry), requirements=["C", "W"])
        resized = np.require(resize_step(source, geometry), requirements=["C", "W"])
        return source, resized, np.require(crop_step(resized, geometry), requirements=["C", "W"])

    def decoded(self, geometry: Geometry) -> Image:
        """The whole picture by a geometry's decoder and colour path, before any resize."""
        if self._picture.status != "ok":
            raise PictureError(self._picture.status, self._picture.reason)
        # Only the last pixels are kept: a large picture by every decoder would fill the memory.
        if self._last is None or not decodes_alike(self._last[0], geometry):
            self._last = geometry, decode_step(self._read(), geometry, self._header())
        return colour_step(self._last[1], geometry)

    def _header(self) -> Header | None:
        """What the survey has read of the header."""
        found = self._picture
        return Header(found.format, found.width, found.height, found.orientation) if found.format else None

    def _read(self) -> bytes | Image:
        """The picture as it was surveyed; one changed or gone since stops the run."""
        if self._content is None:
            id_ = self._picture.sample.id
            try:
                self._content = self._dataset.read(self._picture.sample)
            except PictureError as error:
                raise RunFailed(
                    f"{id_} could be read when the run began and cannot now: {error.reason}"
                ) from error
            if content_hash(self._content) != self._picture.content:
                raise RunFailed(f"{id_} has changed since the run began")
        return self._content
