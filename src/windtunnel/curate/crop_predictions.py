"""Predictions of the crops of candidates, on the engine's executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import ImageError, RunFailed, UserError
from windtunnel.core.images import Image
from windtunnel.core.option_names import option
from windtunnel.core.samples import Surveyed
from windtunnel.data import Dataset
from windtunnel.engine.chunks import Chunk
from windtunnel.engine.images import Source
from windtunnel.engine.jobs import Advance, ItemFunction, Needs
from windtunnel.engine.pixels import fitted
from windtunnel.imaging.header import pillow_quiet
from windtunnel.imaging.ten_crops import CENTRE, CROP_NAMES, ten_crops
from windtunnel.models import Model, ModelSource, Scores, finite_rows, load_model, probe_images
from windtunnel.models.memory import predict_within_memory
from windtunnel.tasks.classification.summary import summarise


@dataclass(frozen=True)
class CandidatePrediction:
    """The predictions of one candidate's crops by one model.

    Attributes:
        id: the candidate.
        status: `ok`, or why there are none.
        reason: the same in words.
        predicted: the predicted output of each crop.
        confidence: the confidence in it.
        true_confidence: the confidence in the candidate's class; NaN without class.
    """

    id: str
    status: str = "ok"
    reason: str = ""
    predicted: tuple[int, ...] = ()
    confidence: tuple[float, ...] = ()
    true_confidence: tuple[float, ...] = ()


@dataclass(frozen=True)
class CropScoring:
    """The job of a worker: predict the crops of candidates.

    Attributes:
        dataset: the candidates.
        model: the model, or where it is loaded from.
        fingerprint: what the model must be.
        mask: the outputs that compete.
        outputs: the output of each candidate's class, by id; absent without class.
        ten: whether there are ten crops, or the centre crop alone.
        needs: the user's plug-ins, the model's files and the images.
    """

    dataset: Dataset
    model: Model | ModelSource
    fingerprint: str
    mask: NDArray[np.bool_]
    outputs: dict[str, int]
    ten: bool
    needs: Needs

    def begin(self) -> ItemFunction[Chunk]:
        """Load the model."""
        model = load_model(self.model)
        if model.fingerprint != self.fingerprint:
            raise UserError(
                f"{model.name} differs between processes (randomly initialised weights?); use "
                f"{option('workers', 1)}."
            )
        return _Predictor(self, model).predict_chunk


@dataclass(frozen=True)
class _Views:
    """The distinct crops of a candidate, and the place of each crop among them."""

    id: str
    images: list[Image]
    places: tuple[int, ...]


class _Predictor:
    """A loaded model that predicts the crops of chunks."""

    def __init__(self, job: CropScoring, model: Model) -> None:
        self._job = job
        self._model = model

    def predict_chunk(self, chunk: Chunk, advance: Advance) -> list[CandidatePrediction]:
        """The predictions of a chunk's candidates, in their order."""
        done: dict[str, CandidatePrediction] = {}
        with pillow_quiet():
            for group in self._groups(chunk.images, done, advance):
                for prediction in self._predict(group):
                    done[prediction.id] = prediction
                    advance(1, prediction.status != "ok")
        return [done[image.sample.id] for image in chunk.images]

    def _groups(
        self, images: Sequence[Surveyed], done: dict[str, CandidatePrediction], advance: Advance
    ) -> Iterator[list[_Views]]:
        """Candidates whose crops have one size and fill a batch; unreadable ones are done."""
        group: list[_Views] = []
        for image in images:
            try:
                views = self._views(image)
            except (ImageError, MemoryError) as error:
                status, reason = (
                    (error.status, error.reason)
                    if isinstance(error, ImageError)
                    else ("too_large", "there is not enough memory")
                )
                done[image.sample.id] = CandidatePrediction(image.sample.id, status, reason)
                advance(1, 1)
                continue
            size = sum(len(member.images) for member in group) + len(views.images)
            same = not group or group[0].images[0].shape == views.images[0].shape
            if group and (size > max(self._model.batch, len(views.images)) or not same):
                yield group
                group = []
            group.append(views)
        if group:
            yield group

    def _views(self, image: Surveyed) -> _Views:
        geometry = self._model.preprocess.geometry
        source, resized, canvas = Source(self._job.dataset, image).stages(geometry)
        if self._job.ten:
            crops, places = ten_crops(source, resized, geometry)
        else:
            crops, places = [canvas], (0,)
        return _Views(image.sample.id, [fitted(crop, geometry) for crop in crops], places)

    def _predict(self, group: list[_Views]) -> list[CandidatePrediction]:
        """Predict candidates together; if the model fails, one by one."""
        batch = np.stack([image for views in group for image in views.images])
        try:
            scores = np.concatenate(
                [
                    predict_within_memory(self._model, batch[start : start + self._model.batch])
                    for start in range(0, len(batch), self._model.batch)
                ]
            )
        except Exception as error:  # the model's own code
            if len(group) > 1:
                return [prediction for views in group for prediction in self._predict([views])]
            self._check_model(error)
            return [CandidatePrediction(group[0].id, "model_error", f"{type(error).__name__}: {error}"[:300])]
        starts = np.cumsum([0, *(len(views.images) for views in group)])
        return [
            self._summarised(views, scores[start:end])
            for views, start, end in zip(group, starts[:-1], starts[1:], strict=True)
        ]

    def _summarised(self, views: _Views, scores: Scores) -> CandidatePrediction:
        if not finite_rows(scores).all():
            return CandidatePrediction(views.id, "not_finite", "the model returns non-finite scores")
        output = self._job.outputs.get(views.id)
        labels = [[] if output is None else [output]] * len(scores)
        summary = summarise(scores, labels, self._model.outputs, self._job.mask)
        best, true = summary.top_score[:, 0], summary.label_score
        if self._model.outputs == "logits":
            best, true = np.exp(best - summary.logsumexp), np.exp(true - summary.logsumexp)
        places = list(views.places)
        return CandidatePrediction(
            views.id,
            predicted=tuple(summary.top[places, 0].tolist()),
            confidence=tuple(best[places].tolist()),
            true_confidence=tuple(true[places].tolist()),
        )

    def _check_model(self, error: Exception) -> None:
        """Stop if the model no longer takes the images it was probed with: then no image is to blame."""
        try:
            self._model.predict(probe_images(self._model.preprocess, 1, self._model.probe_size))
        except Exception:  # the model's own code
            raise RunFailed(f"the model fails on every image: {type(error).__name__}: {error}") from error


# The crops of each set of crops, by the name that folders have.
CROP_SETS = {"ten-crop": CROP_NAMES, "centre": (CROP_NAMES[CENTRE],)}
