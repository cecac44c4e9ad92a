"""What each kind of condition makes of an image, and what it needs for that."""

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
from windtunnel.suites.pipeline_steps import library_used

# Height and width of the image on which units are compiled.
WARM_UP_PX = 64


class ConditionKind:
    """The canvas with nothing done to it, as for `clean` and `native`; other kinds override what differs."""

    def before_codec(
        self, source: Source, condition: Condition, geometry: Geometry, seed: int
    ) -> Iterator[Image]:
        """The images it makes of one, each when it is asked for, before they are stored."""
        del condition, seed
        yield np.ascontiguousarray(source.stages(geometry)[-1])

    def frames(self, source: Source, condition: Condition, geometry: Geometry, seed: int) -> Iterator[Image]:
        """The images it makes of one, stored by the condition's codec and read again."""
        for image in self.before_codec(source, condition, geometry, seed):
            yield round_trip(image, condition.codec)

    def warm_up(self, condition: Condition) -> None:
        """Compile and cache what it needs."""

    def libraries(self, condition: Condition) -> Sequence[str]:
        """The libraries that decide its pixels, besides those of every run."""
        del condition
        return ()


class Corruption(ConditionKind):
    """A corruption, at the stage of the geometry where it acts."""

    def before_codec(
        self, source: Source, condition: Condition, geometry: Geometry, seed: int
    ) -> Iterator[Image]:
        """The corrupted canvas."""
        image = dict(zip(get_args(Stage), source.stages(geometry), strict=True))[condition.stage]
        check_unit_size(image, condition.stage)
        unit = REGISTRY.get(condition.unit)
        rng = unit.draws(seed, source.sample.id, condition.level)
        corrupted = unit.apply(image, rng, condition.level, condition.edition, condition.settings)
        if condition.stage == "source":
            corrupted = resize_step(corrupted, geometry)
        if condition.stage != "canvas":
            corrupted = crop_step(corrupted, geometry)
        yield np.ascontiguousarray(corrupted)

    def frames(self, source: Source, condition: Condition, geometry: Geometry, seed: int) -> Iterator[Image]:
        """The corrupted image; of a precomputed set as it is stored there, decoded and nothing else."""
        if source.precomputed is None:
            yield from super().frames(source, condition, geometry, seed)
        else:
            yield as_image(source.precomputed.read_under(source.sample, condition.unit, condition.level))

    def warm_up(self, condition: Condition) -> None:
        """Apply the corruption to a small image."""
        unit, level = REGISTRY.get(condition.unit), condition.level
        unit.apply(_small_image(), unit.draws(0, "", level), level, condition.edition, condition.settings)


class FrameSequence(ConditionKind):
    """The frames of a sequence."""

    def before_codec(
        self, source: Source, condition: Condition, geometry: Geometry, seed: int
    ) -> Iterator[Image]:
        """The frames, before they are stored."""
        unit, difficulty = sequence_of(condition), condition.level or 1
        rng = unit.draws(seed, source.sample.id, difficulty)
        yield from clip_of(unit, source.stages(geometry), rng, difficulty, condition.edition, geometry)

    def frames(self, source: Source, condition: Condition, geometry: Geometry, seed: int) -> Iterator[Image]:
        """The frames, stored one by one or as video; of a precomputed set as they are stored there."""
        if source.precomputed is None:
            clip = self.before_codec(source, condition, geometry, seed)
            yield from clip_round_trip(clip, condition.codec, sequence_of(condition).type)
            return
        stored = source.precomputed.read_clip(source.sample, condition.unit, condition.level)
        size, free = stored_size(condition), has_any_aspect(condition)
        yield from whole_clip(map(as_image, stored), condition.frames, size, any_aspect=free)

    def warm_up(self, condition: Condition) -> None:
        """Make the second frame of a small image, since the first may be the image itself."""
        unit, difficulty = sequence_of(condition), condition.level or 1
        frames = unit.apply(_small_image(), unit.draws(0, "", difficulty), difficulty, condition.edition)
        for _ in zip(frames, range(2), strict=False):
            pass

    def libraries(self, condition: Condition) -> Sequence[str]:
        """PyAV where frames are, or may be, stored as video."""
        return ["av"] if condition.codec in (H264, AS_STORED) else []


class PipelineStep(ConditionKind):
    """The canvas with one step of the deployment pipeline replaced."""

    def before_codec(
        self, source: Source, condition: Condition, geometry: Geometry, seed: int
    ) -> Iterator[Image]:
        """The canvas by another geometry, which is not kept: no other condition has it."""
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
    """What makes the images of a condition."""
    return _KINDS[condition.kind]


def frames_under(source: Source, condition: Condition, geometry: Geometry, seed: int) -> Iterator[Image]:
    """The images that a condition makes of one, as a model gets them before they are fitted to its size."""
    return kind_of(condition).frames(source, condition, geometry, seed)


def frames_before_codec(
    source: Source, condition: Condition, geometry: Geometry, seed: int
) -> Iterator[Image]:
    """The images that a condition makes of one, before they are stored."""
    return kind_of(condition).before_codec(source, condition, geometry, seed)


def warm_up(conditions: Sequence[Condition]) -> None:
    """Compile and cache every unit that conditions need, on a small image."""
    for condition in conditions:
        kind_of(condition).warm_up(condition)


def _small_image() -> Image:
    return np.zeros((WARM_UP_PX, WARM_UP_PX, 3), np.uint8)
