"""One chunk of work: each picture decoded once per geometry, all its conditions made, batches mixed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windtunnel.conditions import Condition
from windtunnel.corruptions import REGISTRY
from windtunnel.data import Dataset, content_hash
from windtunnel.data.survey import Surveyed
from windtunnel.engine.summary import Summary, summarise
from windtunnel.errors import PictureError, RunFailed, UserError
from windtunnel.imaging import Image
from windtunnel.imaging.codecs import round_trip
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.geometry import Geometry, crop_step, resize_step
from windtunnel.imaging.header import pillow_quiet, read_header
from windtunnel.imaging.resizers import resize
from windtunnel.labels import Projection
from windtunnel.models import Model, Scores, probe_pictures
from windtunnel.store.rows import TOP, schema

# Told of finished predictions, and of pictures that failed.
Advance = Callable[[int, int], None]


@dataclass(frozen=True)
class Work:
    """What every chunk of a run has in common."""

    dataset: Dataset
    conditions: tuple[Condition, ...]
    canvas: Geometry
    seed: int
    label_map: tuple[int, ...]
    projection: Projection
    logits_for: frozenset[str]
    strict: bool

    def geometry_of(self, condition: Condition, model: Model) -> Geometry:
        """How the picture of a condition is made: the model's own way for `native`, else the suite's."""
        return model.preprocess.geometry if condition.kind == "native" else self.canvas


def warm_up(work: Work) -> None:
    """Compile and cache every unit the work needs, on a small picture."""
    picture = np.zeros((64, 64, 3), np.uint8)
    for condition in work.conditions:
        if condition.kind == "corruption":
            unit = REGISTRY.get(condition.unit)
            unit.apply(
                picture,
                unit.draws(0, "", condition.level),
                condition.level,
                condition.edition,
                condition.settings,
            )


def score_chunk(work: Work, model: Model, pictures: Sequence[Surveyed], advance: Advance) -> pa.Table:
    """The rows of one chunk, sorted by picture and condition; failures are rows too.

    Args:
        work: what the run asks for.
        model: the model.
        pictures: the chunk's pictures.
        advance: told of finished predictions and failed pictures as they come.
    """
    rows = _Rows(work, model, pictures, advance)
    waiting: list[tuple[int, Image]] = []
    with pillow_quiet():
        for place, image in _inputs(work, model, pictures, rows):
            if waiting and waiting[0][1].shape != image.shape:
                rows.predict(waiting)
                waiting = []
            waiting.append((place, image))
            if len(waiting) == model.batch:
                rows.predict(waiting)
                waiting = []
    if waiting:
        rows.predict(waiting)
    return rows.table()


def _inputs(
    work: Work, model: Model, pictures: Sequence[Surveyed], rows: _Rows
) -> Iterator[tuple[int, Image]]:
    """What the model sees, by row; pictures that cannot be made are noted as failed rows."""
    width = len(work.conditions)
    for number, picture in enumerate(pictures):
        source = _Source(work.dataset, picture)
        for offset, condition in enumerate(work.conditions):
            place = number * width + offset
            geometry = work.geometry_of(condition, model)
            try:
                image = source.under(condition, geometry, work.seed)
            except PictureError as error:
                rows.fail(place, error)
            else:
                yield place, _fit(image, geometry, model)


class _Source:
    """One picture, decoded and resized at most once per geometry."""

    def __init__(self, dataset: Dataset, picture: Surveyed) -> None:
        self._dataset = dataset
        self._picture = picture
        self._content: bytes | Image | None = None
        self._steps: dict[Geometry, tuple[Image, Image, Image] | PictureError] = {}

    def under(self, condition: Condition, geometry: Geometry, seed: int) -> Image:
        """The picture under a condition, before it is fitted to the model."""
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
        return round_trip(np.ascontiguousarray(canvas), condition.codec)

    def _made(self, geometry: Geometry) -> tuple[Image, Image, Image]:
        if geometry not in self._steps:
            try:
                source = self._decoded(geometry)
                resized = np.require(resize_step(source, geometry), requirements=["C", "W"])
                canvas = np.require(crop_step(resized, geometry), requirements=["C", "W"])
                self._steps[geometry] = (source, resized, canvas)
            except PictureError as error:
                self._steps[geometry] = error
        made = self._steps[geometry]
        if isinstance(made, PictureError):
            raise made
        return made

    def _decoded(self, geometry: Geometry) -> Image:
        if self._picture.status != "ok":
            raise PictureError(self._picture.status, self._picture.reason)
        content = self._read()
        if isinstance(content, bytes):
            content = decode(content, read_header(content), geometry.decoder, geometry.exif)
        return np.require(content, requirements=["C", "W"])

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


def _fit(image: Image, geometry: Geometry, model: Model) -> Image:
    """Bring a canvas to the model's input size: one exact resize by the model's filter, no second crop."""
    wanted = model.preprocess.geometry
    if wanted.output_px is None or geometry == wanted:
        return image
    return resize(image, wanted.output_px, wanted.output_px, wanted.resizer)


class _Rows:
    """The rows of a chunk, filled in as predictions arrive."""

    def __init__(self, work: Work, model: Model, pictures: Sequence[Surveyed], advance: Advance) -> None:
        self._work = work
        self._model = model
        self._samples = [picture.sample for picture in pictures]
        self._advance = advance
        self._count = len(pictures) * len(work.conditions)
        self._mask = work.projection.mask_for(model.class_count)
        self._columns: dict[str, NDArray[Any]] = {}
        self._logits: list[NDArray[np.float32] | None] = [None] * self._count
        self._status = ["ok"] * self._count
        self._reason: list[str | None] = [None] * self._count
        self._failed: set[str] = set()

    def fail(self, place: int, error: PictureError) -> None:
        """Note that a row has no prediction, and why."""
        number, offset = divmod(place, len(self._work.conditions))
        id_ = self._samples[number].id
        if self._work.strict:
            raise UserError(
                f"{id_} under {self._work.conditions[offset].name}: {error.reason}. "
                "--strict stops at the first such picture."
            )
        self._status[place] = error.status
        self._reason[place] = error.reason
        self._advance(1, 0 if id_ in self._failed else 1)
        self._failed.add(id_)

    def predict(self, waiting: Sequence[tuple[int, Image]]) -> None:
        """Predict one batch; where the model fails on it, its pictures are tried one by one."""
        batch = np.stack([image for _, image in waiting])
        try:
            scores = self._model.predict(batch)
        except Exception as error:  # the model's own code
            if len(waiting) > 1:
                for one in waiting:
                    self.predict([one])
                return
            self._check_model(error)
            self.fail(waiting[0][0], PictureError("model_error", f"{type(error).__name__}: {error}"[:300]))
            return
        self._keep([place for place, _ in waiting], scores)

    def _check_model(self, error: Exception) -> None:
        """A model that no longer takes the pictures it was probed with is broken, not the picture."""
        try:
            self._model.predict(probe_pictures(self._model.preprocess, 1))
        except Exception:  # the model's own code
            raise RunFailed(f"the model fails on every picture: {type(error).__name__}: {error}") from error

    def _keep(self, places: list[int], scores: Scores) -> None:
        width = len(self._work.conditions)
        finite = np.isfinite(scores).all(axis=1)
        for place in np.asarray(places)[~finite]:
            self.fail(int(place), PictureError("model_error", "the model's output is not finite"))
        kept = np.asarray(places)[finite]
        scores = scores[finite]
        labels = [
            [self._work.label_map[label] for label in self._samples[place // width].labels] for place in kept
        ]
        summary = summarise(scores, labels, self._model.outputs, self._mask)
        for field in fields(Summary):
            values = getattr(summary, field.name)
            if field.name not in self._columns:
                self._columns[field.name] = np.zeros((self._count, *values.shape[1:]), values.dtype)
            self._columns[field.name][kept] = values
        for row, place in enumerate(kept):
            if self._work.conditions[place % width].name in self._work.logits_for:
                self._logits[place] = scores[row]
        self._advance(len(kept), 0)

    def table(self) -> pa.Table:
        """The rows as Arrow columns; numbers of failed rows are null."""
        conditions = [condition.name for condition in self._work.conditions]
        ok = np.array([status == "ok" for status in self._status])
        labelled = ok & (self._column("label_rank", -1) >= 0)
        kept = bool(self._work.logits_for)
        columns = {
            "sample_id": [sample.id for sample in self._samples for _ in conditions],
            "condition": conditions * len(self._samples),
            "frame": np.zeros(self._count, np.int16),
            "top": _nullable(self._column("top", -1, TOP), ok),
            "top_score": _nullable(self._column("top_score", 0, TOP), ok),
            "label_score": _nullable(self._column("label_score", 0), labelled),
            "label_rank": _nullable(self._column("label_rank", -1), labelled),
            "logsumexp": _nullable(
                self._column("logsumexp", 0), ok & np.full(self._count, self._model.outputs == "logits")
            ),
            "entropy": _nullable(self._column("entropy", 0), ok),
            "sum_p2": _nullable(self._column("sum_p2", 0), ok),
            "status": self._status,
            "reason": self._reason,
            **({"logits": self._logits} if kept else {}),
        }
        wanted = schema(with_logits=kept)
        return pa.table([pa.array(columns[field.name], field.type) for field in wanted], schema=wanted)

    def _column(self, name: str, default: int, width: int = 0) -> NDArray[Any]:
        shape = (self._count, width) if width else (self._count,)
        return self._columns.get(name, np.full(shape, default))


def _nullable(values: NDArray[Any], valid: NDArray[np.bool_]) -> list[Any]:
    return [value if good else None for value, good in zip(values.tolist(), valid, strict=True)]
