"""The pixel stage: what models see of the images of a chunk, made once for all of them, in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import ImageError
from windtunnel.core.images import Image
from windtunnel.core.samples import Surveyed
from windtunnel.data import Dataset
from windtunnel.engine.condition_kinds import frames_under
from windtunnel.engine.images import Source
from windtunnel.imaging.geometry import Geometry, crop_step, resize_step
from windtunnel.imaging.header import pillow_quiet
from windtunnel.imaging.resizers import resize

TOO_LARGE = ImageError("too_large", "there is not enough memory for this condition")


@dataclass(frozen=True)
class PixelWork:
    """The images that one model is shown of every image of a dataset.

    Attributes:
        dataset: the source images.
        conditions: what is done to each of them.
        canvas: how an image becomes the canvas that conditions act on.
        native: the geometry of the model's own preprocessing.
        batches: the number of images in one call of the network, by numerics ("" is the model's own).
        seed: seed of every random draw.
        whole_images: whether conditions act on whole images, and the model's geometry follows.
    """

    dataset: Dataset
    conditions: tuple[Condition, ...]
    canvas: Geometry
    native: Geometry
    batches: Mapping[str, int]
    seed: int
    whole_images: bool = False

    @cached_property
    def views(self) -> tuple[tuple[Condition, int], ...]:
        """What the model is shown of every image: each condition's frames."""
        return tuple((condition, frame) for condition in self.conditions for frame in range(condition.frames))

    @cached_property
    def first_views(self) -> dict[str, int]:
        """The place of each condition's first frame among the views, by the condition's name."""
        return {condition.name: place for place, (condition, frame) in enumerate(self.views) if frame == 0}

    def geometry_of(self, condition: Condition) -> Geometry:
        """How a condition's image is made: the model's geometry for `native`, else the canvas or near it."""
        geometry = self.native if condition.is_native else self.canvas
        return replace(geometry, **condition.geometry_changes)

    def numerics(self, place: int) -> str:
        """The arithmetic that the network of a row runs in; "" for its own."""
        return self.views[place % len(self.views)][0].numerics

    def fitted(self, image: Image) -> Image:
        """The image at the model's input size."""
        if self.whole_images:
            return crop_step(resize_step(image, self.native), self.native)
        return fitted(image, self.native)


def fitted(image: Image, native: Geometry) -> Image:
    """Bring a canvas to a model's input size: one exact resize by the model's filter, no second crop."""
    wanted = native.output_px
    if wanted is None or image.shape[:2] == (wanted, wanted):
        return image
    return resize(image, wanted, wanted, native.resizer)


@dataclass(frozen=True)
class Buffer:
    """Memory for one batch.

    Attributes:
        images: uint8 (n, height, width, 3).
        slot: its number, if it is shared with another process.
    """

    images: NDArray[np.uint8]
    slot: int = -1


Allocate = Callable[[tuple[int, ...]], Buffer]


def own_memory(shape: tuple[int, ...]) -> Buffer:
    """A batch in the memory of this process."""
    return Buffer(np.empty(shape, np.uint8))


@dataclass(frozen=True)
class Batch:
    """Images for one call of a network.

    Attributes:
        run: the number of the work they belong to.
        numerics: the arithmetic of the network.
        buffer: the images; only the first `len(places)` are filled.
        places: the row of each image.
    """

    run: int
    numerics: str
    buffer: Buffer
    places: list[int] = field(default_factory=list)

    @property
    def images(self) -> NDArray[np.uint8]:
        """The filled part of the buffer."""
        return self.buffer.images[: len(self.places)]

    @property
    def full(self) -> bool:
        """Whether no further image fits."""
        return len(self.places) == len(self.buffer.images)


@dataclass(frozen=True)
class Failure:
    """A row for which no image could be made."""

    run: int
    place: int
    error: ImageError


@dataclass(frozen=True)
class Difference:
    """How far the image of a row is from the canvas, in grey levels."""

    run: int
    place: int
    mean: float
    largest: int


Event = Batch | Failure | Difference


def make_batches(
    works: Sequence[PixelWork], images: Sequence[Surveyed], allocate: Allocate = own_memory
) -> Iterator[Event]:
    """Everything the models of some works have to predict of some images, in batches.

    Images that several works have in common are made once. The order of a work's rows, and so its batches,
    do not depend on the other works.

    Args:
        works: one for each model, over the same dataset and with the same seed.
        images: the images of a chunk.
        allocate: returns memory for a batch.
    """
    stage = _PixelStage(works, allocate)
    with pillow_quiet():
        for number, image in enumerate(images):
            source = Source(works[0].dataset, image)
            for request in stage.requests:
                yield from stage.events(source, request, number)
    yield from stage.unfinished()


@dataclass(frozen=True)
class _Request:
    """The images of one condition by one geometry, and the works that need them."""

    condition: Condition
    geometry: Geometry
    runs: tuple[int, ...]


class _PixelStage:
    """Makes the images of conditions and collects them in batches."""

    def __init__(self, works: Sequence[PixelWork], allocate: Allocate) -> None:
        self._works = works
        self._allocate = allocate
        self._open: dict[tuple[int, str], Batch] = {}
        self.requests = _shared_requests(works)

    def events(self, source: Source, request: _Request, number: int) -> Iterator[Event]:
        """The images of one request, as batches that are full; a frame that cannot be made is a failure."""
        condition, seed = request.condition, self._works[0].seed
        frames = frames_under(source, condition, request.geometry, seed)
        for frame in range(condition.frames):
            try:
                image = next(frames, None)
                if image is None:
                    return
                inputs = [self._works[run].fitted(image) for run in request.runs]
            except (ImageError, MemoryError) as error:
                reason = error if isinstance(error, ImageError) else TOO_LARGE
                for run in request.runs:
                    for lost in range(frame, condition.frames):
                        yield Failure(run, self._place(run, condition, number, lost), reason)
                return
            for run, input_image in zip(request.runs, inputs, strict=True):
                place = self._place(run, condition, number, frame)
                if condition.is_pipeline_step:
                    yield from self._differences(run, place, image, source)
                yield from self._add(run, condition.numerics, place, input_image)

    def unfinished(self) -> Iterator[Batch]:
        """The batches that are not full at the end."""
        yield from self._open.values()
        self._open.clear()

    def _place(self, run: int, condition: Condition, number: int, frame: int) -> int:
        work = self._works[run]
        return number * len(work.views) + work.first_views[condition.name] + frame

    def _differences(self, run: int, place: int, image: Image, source: Source) -> Iterator[Difference]:
        """How far an image is from the canvas, if there is one of the same size."""
        canvas = source.canvas(self._works[run].canvas)
        if canvas is not None and canvas.shape == image.shape:
            total = cv2.norm(image.ravel(), canvas.ravel(), cv2.NORM_L1)
            yield Difference(run, place, total / image.size, int(cv2.norm(image, canvas, cv2.NORM_INF)))

    def _add(self, run: int, numerics: str, place: int, image: Image) -> Iterator[Batch]:
        """Put an image into its batch; a batch is handed on when it is full or the next size differs."""
        key = run, numerics
        batch = self._open.get(key)
        if batch is not None and batch.images.shape[1:] != image.shape:
            yield self._open.pop(key)
            batch = None
        if batch is None:
            shape = (self._works[run].batches[numerics], *image.shape)
            batch = self._open[key] = Batch(run, numerics, self._allocate(shape))
        batch.buffer.images[len(batch.places)] = image
        batch.places.append(place)
        if batch.full:
            yield self._open.pop(key)


def _shared_requests(works: Sequence[PixelWork]) -> list[_Request]:
    """What has to be made of every image: each condition and geometry once, in the order of every work."""
    order: list[tuple[str, Geometry]] = []
    requests: dict[tuple[str, Geometry], _Request] = {}
    for run, work in enumerate(works):
        position = 0
        for condition in work.conditions:
            geometry = work.geometry_of(condition)
            key = condition.id, geometry
            if key in requests:
                position = order.index(key) + 1
                requests[key] = replace(requests[key], runs=(*requests[key].runs, run))
            else:
                order.insert(position, key)
                position += 1
                requests[key] = _Request(condition, geometry, (run,))
    return [requests[key] for key in order]
