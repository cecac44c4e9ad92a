"""Kinds of conditions: the images that each makes, its warm-up and its libraries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

import numpy as np

from windtunnel.core.conditions import Condition
from windtunnel.core.conditions import Kind as KindName
from windtunnel.core.images import Image, Stage
from windtunnel.corruptions import REGISTRY
from windtunnel.data.precomputed import AS_STORED, stored_size
from windtunnel.engine.images import Source, as_image, clip_of
from windtunnel.imaging.clips import H264, clip_round_trip, whole_clip
from windtunnel.imaging.codecs import round_trip
from windtunnel.imaging.geometry import Geometry, crop_step, resize_step
from windtunnel.imaging.header import check_unit_size
from windtunnel.sequences import has_any_aspect, sequence_of
from windtunnel.suites.determinism import apply_reproducibly
from windtunnel.suites.pipeline_steps import library_used

# Height and width of the image on which units are compiled.
WARM_UP_PX = 64


class ConditionKind:
    """A kind of condition; by default the unmodified canvas, as for `clean` and `native`."""

    def before_codec(
        self, source: Source, condition: Condition, geometry: Geometry, seed: int
    ) -> Iterator[Image]:
        """Yield the images that a condition makes from one image, before they are stored by its codec."""
        del condition, seed
        yield np.ascontiguousarray(source.stages(geometry)[-1])

    def frames(self, source: Source, condition: Condition, geometry: Geometry, seed: int) -> Iterator[Image]:
        """Yield the images that a condition makes from one image, after a round trip through its codec."""
        for image in self.before_codec(source, condition, geometry, seed):
            yield round_trip(image, condition.codec)

    def warm_up(self, condition: Condition) -> None:
        """Compile and cache what a condition needs; by default its codec."""
        round_trip(_small_image(), condition.codec)

    def libraries(self, condition: Condition) -> Sequence[str]:
        """The libraries that determine a condition's pixels, in addition to those of every run."""
        del condition
        return ()


class Corruption(ConditionKind):
    """A corruption, at the stage of the geometry where it acts."""

    def before_codec(
        self, source: Source, condition: Condition, geometry: Geometry, seed: int
    ) -> Iterator[Image]:
        """Yield the corrupted canvas."""
        image = dict(zip(get_args(Stage), source.stages(geometry), strict=True))[condition.stage]
        check_unit_size(image, condition.stage)
        unit = REGISTRY.get(condition.unit)
        level = condition.level

        def apply() -> Image:
            rng = unit.draws(seed, source.sample.id, level)
            return unit.apply(image, rng, level, condition.edition, condition.settings)

        corrupted = apply_reproducibly(unit, apply)
        if condition.stage == "source":
            corrupted = resize_step(corrupted, geometry)
        if condition.stage != "canvas":
            corrupted = crop_step(corrupted, geometry)
        yield np.ascontiguousarray(corrupted)

    def frames(self, source: Source, condition: Condition, geometry: Geometry, seed: int) -> Iterator[Image]:
        """Yield the corrupted image; a stored image of a precomputed set is only decoded."""
        if source.precomputed is None:
            yield from super().frames(source, condition, geometry, seed)
        else:
            yield as_image(source.precomputed.read_under(source.sample, condition.unit, condition.level))

    def warm_up(self, condition: Condition) -> None:
        """Apply the corruption to a small image, and store it."""
        super().warm_up(condition)
        unit, level = REGISTRY.get(condition.unit), condition.level
        unit.apply(_small_image(), unit.draws(0, "", level), level, condition.edition, condition.settings)


class FrameSequence(ConditionKind):
    """The frames of a sequence."""

    def before_codec(
        self, source: Source, condition: Condition, geometry: Geometry, seed: int
    ) -> Iterator[Image]:
        """Yield the frames, before they are stored."""
        unit, difficulty = sequence_of(condition), condition.level or 1
        rng = unit.draws(seed, source.sample.id, difficulty)
        yield from clip_of(unit, source.stages(geometry), rng, difficulty, condition.edition, geometry)

    def frames(self, source: Source, condition: Condition, geometry: Geometry, seed: int) -> Iterator[Image]:
        """Yield the frames after a round trip through the codec; stored frames are only decoded."""
        if source.precomputed is None:
            clip = self.before_codec(source, condition, geometry, seed)
            yield from clip_round_trip(clip, condition.codec, sequence_of(condition).type)
            return
        stored = source.precomputed.read_clip(source.sample, condition.unit, condition.level)
        size, free = stored_size(condition), has_any_aspect(condition)
        yield from whole_clip(map(as_image, stored), condition.frames, size, any_aspect=free)

    def warm_up(self, condition: Condition) -> None:
        """Make two frames of a small image, since the first may be the image itself."""
        unit, difficulty = sequence_of(condition), condition.level or 1
        frames = unit.apply(_small_image(), unit.draws(0, "", difficulty), difficulty, condition.edition)
        for _ in zip(frames, range(2), strict=False):
            pass

    def libraries(self, condition: Condition) -> Sequence[str]:
        """PyAV if frames are, or may be, stored as video."""
        return ["av"] if condition.codec in (H264, AS_STORED) else []


class PipelineStep(ConditionKind):
    """The canvas with one step of the deployment pipeline replaced."""

    def before_codec(
        self, source: Source, condition: Condition, geometry: Geometry, seed: int
    ) -> Iterator[Image]:
        """Yield the canvas of the changed geometry; it is not cached, because no other condition uses it."""
        del condition, seed
        yield np.ascontiguousarray(crop_step(resize_step(source.decoded(geometry), geometry), geometry))

    def libraries(self, condition: Condition) -> Sequence[str]:
        """The library of the replaced step."""
        used = library_used(condition.unit)
        return [used] if used else []


_KINDS: dict[KindName, ConditionKind] = {
    "clean": ConditionKind(),
    "native": ConditionKind(),
    "corruption": Corruption(),
    "sequence": FrameSequence(),
    "pipeline": PipelineStep(),
}


def kind_of(condition: Condition) -> ConditionKind:
    """The kind of a condition."""
    return _KINDS[condition.kind]


def frames_under(source: Source, condition: Condition, geometry: Geometry, seed: int) -> Iterator[Image]:
    """Yield the images that a condition makes from one image, not yet resized to the model's input."""
    return kind_of(condition).frames(source, condition, geometry, seed)


def frames_before_codec(
    source: Source, condition: Condition, geometry: Geometry, seed: int
) -> Iterator[Image]:
    """Yield the images that a condition makes from one image, before they are stored by its codec."""
    return kind_of(condition).before_codec(source, condition, geometry, seed)


def warm_up(conditions: Sequence[Condition]) -> None:
    """Compile and cache every unit of the conditions, on a small image."""
    for condition in conditions:
        kind_of(condition).warm_up(condition)


def _small_image() -> Image:
    return np.zeros((WARM_UP_PX, WARM_UP_PX, 3), np.uint8)
