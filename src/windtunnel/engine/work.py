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
from windtunnel.data import Dataset, Sample
from windtunnel.engine.summary import Summary, summarise
from windtunnel.errors import PictureError, RunFailed, UserError
from windtunnel.imaging import Image
from windtunnel.imaging.codecs import round_trip
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.geometry import Geometry, crop_step, resize_step
from windtunnel.imaging.header import check_size, read_header
from windtunnel.imaging.resizers import resize
from windtunnel.labels import Projection
from windtunnel.models import Model, Scores
from windtunnel.store.rows import schema

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
            unit.apply(picture, unit.draws(0, "", condition.level), condition.level, condition.edition)


def score_chunk(work: Work, model: Model, samples: Sequence[Sample], advance: Advance) -> pa.Table:
    """The rows of one chunk, sorted by picture and condition; failures are rows too.

    Args:
        work: what the run asks for.
        model: the model.
        samples: the chunk's pictures.
        advance: told of finished and failed predictions as they come.
    """
    rows = _Rows(work, model, samples)
    waiting: list[tuple[int, Image]] = []
    for place, image in _pictures(work, model, samples, rows, advance):
        if waiting and waiting[0][1].shape != image.shape:
            rows.predict(waiting, advance)
            waiting = []
        waiting.append((place, image))
        if len(waiting) == model.batch:
            rows.predict(waiting, advance)
            waiting = []
    if waiting:
        rows.predict(waiting, advance)
    return rows.table()


def _pictures(
    work: Work, model: Model, samples: Sequence[Sample], rows: _Rows, advance: Advance
) -> Iterator[tuple[int, Image]]:
    """What the model sees, by row; pictures that cannot be made are noted as failed rows."""
    width = len(work.conditions)
    for number, sample in enumerate(samples):
        source = _Source(work.dataset, sample)
        failed = False
        for offset, condition in enumerate(work.conditions):
            place = number * width + offset
            geometry = work.geometry_of(condition, model)
            try:
                image = source.under(condition, geometry, work.seed)
            except PictureError as error:
                if work.strict:
                    raise UserError(
                        f"{sample.id} under {condition.name}: {error.reason}. "
                        "--strict stops at the first such picture."
                    ) from error
                rows.fail(place, error)
                advance(1, 0 if failed else 1)
                failed = True
            else:
                yield place, _fit(image, geometry, model)


class _Source:
    """One picture, decoded and resized at most once per geometry."""

    def __init__(self, dataset: Dataset, sample: Sample) -> None:
        self._dataset = dataset
        self._sample = sample
        self._content: bytes | Image | PictureError | None = None
        self._steps: dict[Geometry, tuple[Image, Image, Image] | PictureError] = {}

    def under(self, condition: Condition, geometry: Geometry, seed: int) -> Image:
        """The picture under a condition, before it is fitted to the model."""
        source, resized, canvas = self._made(geometry)
        if condition.kind == "corruption":
            unit = REGISTRY.get(condition.unit)
            rng = unit.draws(seed, self._sample.id, condition.level)
            if condition.stage == "source":
                spoilt = unit.apply(source, rng, condition.level, condition.edition)
                canvas = crop_step(resize_step(spoilt, geometry), geometry)
            elif condition.stage == "resized":
                canvas = crop_step(unit.apply(resized, rng, condition.level, condition.edition), geometry)
            else:
                canvas = unit.apply(canvas, rng, condition.level, condition.edition)
        return round_trip(np.ascontiguousarray(canvas), condition.codec)

    def _made(self, geometry: Geometry) -> tuple[Image, Image, Image]:
        if geometry not in self._steps:
            try:
                source = self._decoded(geometry)
                resized = resize_step(source, geometry)
                canvas = np.require(crop_step(resized, geometry), requirements=["C", "W"])
                self._steps[geometry] = (source, resized, canvas)
            except PictureError as error:
                self._steps[geometry] = error
        made = self._steps[geometry]
        if isinstance(made, PictureError):
            raise made
        return made

    def _decoded(self, geometry: Geometry) -> Image:
        if self._content is None:
            try:
                self._content = self._dataset.read(self._sample)
            except PictureError as error:
                self._content = error
        if isinstance(self._content, PictureError):
            raise self._content
        if not isinstance(self._content, bytes):
            check_size(self._content.shape[1], self._content.shape[0])
            return np.require(self._content, requirements=["C", "W"])
        header = read_header(self._content)
        return np.require(
            decode(self._content, header, geometry.decoder, geometry.exif), requirements=["C", "W"]
        )


def _fit(image: Image, geometry: Geometry, model: Model) -> Image:
    """Bring a canvas to the model's input size: one exact resize by the model's filter, no second crop."""
    wanted = model.preprocess.geometry
    if wanted.output_px is None or geometry == wanted:
        return image
    return resize(image, wanted.output_px, wanted.output_px, wanted.resizer)


class _Rows:
    """The rows of a chunk, filled in as predictions arrive."""

    def __init__(self, work: Work, model: Model, samples: Sequence[Sample]) -> None:
        self._work = work
        self._model = model
        self._samples = samples
        self._count = len(samples) * len(work.conditions)
        self._mask = work.projection.mask_for(model.class_count)
        self._columns: dict[str, NDArray[Any]] = {}
        self._logits: list[NDArray[np.float32] | None] = [None] * self._count
        self._status = ["ok"] * self._count
        self._reason: list[str | None] = [None] * self._count
        self._predicted = 0
        self._last_model_error = ""

    def fail(self, place: int, error: PictureError) -> None:
        """Note that a row has no prediction, and why."""
        self._status[place] = error.status
        self._reason[place] = error.reason

    def predict(self, waiting: Sequence[tuple[int, Image]], advance: Advance) -> None:
        """Predict one batch; where the model fails on it, its pictures are tried one by one."""
        batch = np.stack([image for _, image in waiting])
        try:
            scores = self._model.predict(batch)
        except Exception as error:  # the model's own code
            if len(waiting) > 1:
                for one in waiting:
                    self.predict([one], advance)
                return
            self._last_model_error = f"{type(error).__name__}: {error}"
            self.fail(waiting[0][0], PictureError("model_error", self._last_model_error[:300]))
            advance(1, 1)
            return
        self._keep([place for place, _ in waiting], scores)
        advance(len(waiting), 0)

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
        self._predicted += len(kept)

    def table(self) -> pa.Table:
        """The rows as Arrow columns; numbers of failed rows are null."""
        if not self._predicted and self._last_model_error:
            raise RunFailed(f"the model failed on every picture of a chunk: {self._last_model_error}")
        conditions = [condition.name for condition in self._work.conditions]
        ok = np.array([status == "ok" for status in self._status])
        labelled = ok & (self._column("label_rank", -1) >= 0)
        kept = bool(self._work.logits_for)
        columns = {
            "sample_id": [sample.id for sample in self._samples for _ in conditions],
            "condition": conditions * len(self._samples),
            "frame": np.zeros(self._count, np.int16),
            "top": _nullable(self._column("top", -1, 5), ok),
            "top_score": _nullable(self._column("top_score", 0, 5), ok),
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
