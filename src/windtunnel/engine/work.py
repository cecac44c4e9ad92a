"""One chunk of work: make its images under every condition, predict in batches, and build the rows."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import ImageError, RunFailed, UserError
from windtunnel.core.images import Image
from windtunnel.core.option_names import option
from windtunnel.core.samples import Surveyed
from windtunnel.core.task import Postprocessor, Task
from windtunnel.data import Dataset
from windtunnel.engine.condition_kinds import frames_under, warm_up
from windtunnel.engine.images import Source
from windtunnel.engine.jobs import Advance
from windtunnel.engine.shard_rows import NOT_FINITE_REASON, ShardRows
from windtunnel.engine.worker_processes import start_uninterruptible
from windtunnel.imaging.geometry import Geometry
from windtunnel.imaging.header import pillow_quiet
from windtunnel.imaging.resizers import resize
from windtunnel.models import Model, probe_images
from windtunnel.models.numerics import variant_of
from windtunnel.suites.pipeline_steps import axis_of, value_of
from windtunnel.suites.units import include_units


@dataclass(frozen=True)
class Work:
    """The settings that all chunks of a run share."""

    dataset: Dataset
    conditions: tuple[Condition, ...]
    canvas: Geometry
    seed: int
    task: Task
    postprocessor: Postprocessor
    keep: tuple[str, ...]
    strict: bool

    @cached_property
    def views(self) -> tuple[tuple[Condition, int], ...]:
        """The views of every image: each frame of each condition."""
        return tuple((condition, frame) for condition in self.conditions for frame in range(condition.frames))

    def geometry_of(self, condition: Condition, model: Model) -> Geometry:
        """The geometry of a condition: the model's own for `native`, else the changed canvas of the suite."""
        geometry = model.preprocess.geometry if condition.is_native else self.canvas
        return replace(geometry, **condition.geometry_changes)

    def numerics(self, place: int) -> str:
        """The numerics of the network for a row; "" for the model's own."""
        unit = self.views[place % len(self.views)][0].unit
        return value_of(unit) if axis_of(unit) == "numerics" else ""


def warm_up_apart(conditions: Sequence[Condition], includes: Sequence[Path]) -> None:
    """Compile and cache every unit of the conditions in a separate process.

    A process that only distributes work needs no compiled code in its memory.
    """
    process = multiprocessing.get_context("spawn").Process(
        target=_warm_up_with, args=(tuple(conditions), tuple(includes))
    )
    start_uninterruptible(process)
    try:
        process.join()
    finally:
        process.kill()


def _warm_up_with(conditions: Sequence[Condition], includes: Sequence[Path]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent reports an interruption
    include_units(includes)
    warm_up(conditions)


def score_chunk(work: Work, model: Model, images: Sequence[Surveyed], advance: Advance) -> pa.Table:
    """The rows of one chunk, sorted by image and condition; failures are rows too.

    Args:
        work: the settings of the run.
        model: the model.
        images: the chunk's images.
        advance: called with the numbers of finished predictions and of failed images.
    """
    rows = _Rows(work, model, images, advance)
    networks = {
        name: variant_of(model, name) if name else model
        for name in map(work.numerics, range(len(work.views)))
    }
    queues: dict[str, list[tuple[int, Image]]] = {}
    with pillow_quiet():
        for place, image in _inputs(work, model, images, rows):
            numerics = work.numerics(place)
            network = networks[numerics]
            waiting = queues.setdefault(numerics, [])
            if waiting and waiting[0][1].shape != image.shape:
                rows.predict(waiting, network)
                waiting.clear()
            waiting.append((place, image))
            if len(waiting) == network.batch:
                rows.predict(waiting, network)
                waiting.clear()
    for numerics, waiting in queues.items():
        if waiting:
            rows.predict(waiting, networks[numerics])
    return rows.table()


def _inputs(work: Work, model: Model, images: Sequence[Surveyed], rows: _Rows) -> Iterator[tuple[int, Image]]:
    """Yield the model's inputs with their rows; images that cannot be made become failed rows."""
    place = 0
    for surveyed in images:
        source = Source(work.dataset, surveyed)
        for condition in work.conditions:
            geometry = work.geometry_of(condition, model)
            after = place + condition.frames
            try:
                for image in frames_under(source, condition, geometry, work.seed):
                    if condition.is_pipeline_step:
                        rows.note_pixels(place, image, source.canvas(work.canvas))
                    yield place, fitted(image, model)
                    place += 1
            except ImageError as error:
                for failed in range(place, after):
                    rows.fail(failed, error)
            except MemoryError:
                for failed in range(place, after):
                    rows.fail(
                        failed, ImageError("too_large", "there is not enough memory for this condition")
                    )
            place = after


def fitted(image: Image, model: Model) -> Image:
    """Resize a canvas to the model's input size with the model's filter; it is not cropped again."""
    wanted = model.preprocess.geometry
    if wanted.output_px is None or image.shape[:2] == (wanted.output_px, wanted.output_px):
        return image
    return resize(image, wanted.output_px, wanted.output_px, wanted.resizer)


class _Rows:
    """The rows of a chunk, filled in as predictions arrive."""

    def __init__(self, work: Work, model: Model, images: Sequence[Surveyed], advance: Advance) -> None:
        self._work = work
        self._model = model
        self._samples = [image.sample for image in images]
        self._advance = advance
        self._rows = ShardRows(work.task, work.postprocessor, self._samples, work.conditions, work.keep)
        self._failed: set[str] = set()

    def fail(self, place: int, error: ImageError) -> None:
        """Record that a row has no prediction, and why."""
        number, offset = divmod(place, len(self._work.views))
        id_ = self._samples[number].id
        if self._work.strict:
            raise UserError(
                f"{id_} under {self._work.views[offset][0].name}: {error.reason}. "
                f"{option('strict', True)} stops at the first such image."
            )
        self._rows.fail(place, error)
        self._advance(1, 0 if id_ in self._failed else 1)
        self._failed.add(id_)

    def note_pixels(self, place: int, image: Image, canvas: Image | None) -> None:
        """Record the difference of an image from the canvas, if there is one of the same size."""
        if canvas is not None and canvas.shape == image.shape:
            whole = cv2.norm(image.ravel(), canvas.ravel(), cv2.NORM_L1)
            self._rows.note_pixels(place, whole / image.size, int(cv2.norm(image, canvas, cv2.NORM_INF)))

    def predict(self, waiting: Sequence[tuple[int, Image]], network: Model) -> None:
        """Predict one batch; if the network fails on it, its images are tried one by one."""
        batch = np.stack([image for _, image in waiting])
        try:
            outputs = network.predict(batch)
        except Exception as error:  # the model's own code
            if len(waiting) > 1:
                for row in waiting:
                    self.predict([row], network)
                return
            self._check_model(error)
            self.fail(waiting[0][0], ImageError("model_error", f"{type(error).__name__}: {error}"[:300]))
            return
        self._keep(np.array([place for place, _ in waiting]), outputs)

    def _check_model(self, error: Exception) -> None:
        """Stop the run if the model also fails on the images that it was probed with."""
        try:
            self._model.predict(probe_images(self._model.preprocess, 1, self._model.probe_size))
        except Exception:  # the model's own code
            raise RunFailed(f"the model fails on every image: {type(error).__name__}: {error}") from error

    def _keep(self, places: NDArray[np.int64], outputs: Any) -> None:
        # Overflow depends on the model: the prediction is wrong, and the image is kept in all scores.
        finite = self._rows.add(places, outputs)
        for place in places[~finite].tolist():
            if self._work.strict and not self._work.numerics(place):
                self.fail(place, ImageError("not_finite", NOT_FINITE_REASON))
        self._advance(len(places), 0)

    def table(self) -> pa.Table:
        """The rows as a shard stores them."""
        return self._rows.table()
