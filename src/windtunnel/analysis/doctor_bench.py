"""The doctor's test bench: predictions on the same images with any geometry and arithmetic, in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.preprocess_grid import Order
from windtunnel.core.errors import ImageError
from windtunnel.core.images import Image
from windtunnel.core.labels import Projection
from windtunnel.core.samples import Surveyed
from windtunnel.data import Dataset
from windtunnel.engine.images import Source
from windtunnel.imaging.geometry import Geometry, crop_step, resize_step, resized_size
from windtunnel.imaging.header import MAX_CANVAS_PIXELS
from windtunnel.models import Model, Outputs, Scores, finite_rows, probe_outputs
from windtunnel.models.memory import predict_within_memory
from windtunnel.models.preprocess import Preprocess

# Lower bound of probabilities, so that a single image does not outweigh all others.
LEAST_PROBABILITY = 1e-6
# Sharpnesses at which log-probabilities are computed, and number of images that set the scale of scores.
SHARPNESS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
SCALED_ON = 256
# The predicted class of an image whose scores are not finite.
NO_PREDICTION = -1

# For every image the outputs of its labels.
Places = list[list[int]]


class WrongSize(Exception):
    """A model does not accept images of this size."""


@dataclass(frozen=True)
class Predictions:
    """Predictions on images: the predicted class, and the label's log-probability for every label order.

    `log_probabilities` is images x orders x `SHARPNESS`: scores are divided by their mean standard deviation
    over outputs and multiplied by each sharpness. Confidence is no evidence for a preprocessing, and another
    input scale may raise it. Two trials are therefore compared at the same sharpness. None if the model
    outputs only 0 and 1.
    """

    chosen: NDArray[np.int64]
    log_probabilities: NDArray[np.float32] | None
    outputs: Outputs


@dataclass(frozen=True)
class Bench:
    """A model, shuffled images, and the label orders to try."""

    model: Model
    dataset: Dataset
    images: Sequence[Surveyed]
    orders: Sequence[Order]
    projection: Projection = Projection()  # noqa: RUF009 (frozen)
    advance: Callable[[int], None] = lambda _images: None

    def predictions(self, preprocesses: Sequence[Preprocess]) -> list[Predictions]:
        """Predictions on all images for several kinds of preprocessing with one geometry.

        Raises:
            WrongSize: the geometry yields a size on which the model fails.
        """
        return [reader.predictions() for reader in self._read(preprocesses, self.images)]

    def choices(self, preprocesses: Sequence[Preprocess], count: int) -> list[NDArray[np.int64]]:
        """The predicted classes of the first `count` images."""
        return [reader.choices() for reader in self._read(preprocesses, self.images[:count])]

    def _read(self, preprocesses: Sequence[Preprocess], images: Sequence[Surveyed]) -> list[_Reader]:
        models = [self.model.redeclared(preprocess) for preprocess in preprocesses]
        readers = [_Reader(self.orders, self.projection, self.model.outputs) for _ in models]
        geometry, size = preprocesses[0].geometry, self.model.batch
        for start in range(0, len(images), size):
            batch = images[start : start + size]
            canvases = np.stack([canvas_of(self.dataset, image, geometry) for image in batch])
            for model, reader in zip(models, readers, strict=True):
                reader.read(self._predict(model, canvases), [image.sample.labels for image in batch])
                self.advance(len(batch))
        return readers

    def _predict(self, model: Model, canvases: NDArray[np.uint8]) -> Scores:
        own = self.model.preprocess.geometry.output_px
        try:
            return predict_within_memory(model, canvases)
        except Exception as error:  # ONNX Runtime's own exceptions share no base class
            if model.preprocess.geometry.output_px == own or isinstance(error, MemoryError):
                raise
            raise WrongSize(" ".join(str(error).split())) from error


class _Reader:
    """Reduces batches of scores to predictions; stores only the first scores, to find their scale."""

    def __init__(self, orders: Sequence[Order], projection: Projection, declared: Outputs) -> None:
        self._orders, self._projection, self._declared = orders, projection, declared
        self._chosen: list[NDArray[np.int64]] = []
        self._unscaled: list[tuple[Scores, list[Places]]] = []
        self._log_probabilities: list[NDArray[np.float32]] = []
        self._scale = 0.0
        self._probabilities, self._graded = True, False

    def read(self, scores: Scores, labels: Sequence[Sequence[int]]) -> None:
        """Add the scores of a batch."""
        finite = finite_rows(scores)
        probed = probe_outputs(scores)
        if finite.any():
            self._probabilities &= probed == "probabilities"
            self._graded |= probed == "logits" or bool(((scores > 0) & (scores < 1)).any())
        if self._declared == "probabilities" or probed == "probabilities":
            scores = np.log(np.maximum(scores, np.finfo(np.float32).tiny))
        counts = self._projection.mask_for(scores.shape[1])
        values = self._projection.apply(scores).copy()
        values[:, ~counts] = -np.inf
        self._chosen.append(np.where(finite, values.argmax(axis=1), NO_PREDICTION))
        values[~finite] = np.where(counts, 0, -np.inf)
        places = [[[order.outputs[label] for label in row] for row in labels] for order in self._orders]
        if self._scale:
            self._log_probabilities.append(
                log_probabilities((values / self._scale).astype(np.float32), places)
            )
            return
        self._unscaled.append((values, places))
        if sum(len(batch) for batch, _ in self._unscaled) >= SCALED_ON:
            self._set_scale()

    def choices(self) -> NDArray[np.int64]:
        """The predicted class of every image."""
        return np.concatenate(self._chosen)

    def predictions(self) -> Predictions:
        """Predicted classes and log-probabilities of all images."""
        if self._unscaled:
            self._set_scale()
        outputs: Outputs = "probabilities" if self._probabilities else "logits"
        values = np.concatenate(self._log_probabilities) if self._graded else None
        return Predictions(self.choices(), values, outputs)

    def _set_scale(self) -> None:
        """Compute the scale from the scores read so far, and release them."""
        self._scale = scale_of(np.concatenate([values for values, _ in self._unscaled]))
        self._log_probabilities = [
            log_probabilities((values / self._scale).astype(np.float32), places)
            for values, places in self._unscaled
        ]
        self._unscaled = []


def scale_of(scores: Scores) -> float:
    """The mean over images of the standard deviation over competing outputs; 1 if all are equal."""
    counts = np.isfinite(scores).all(axis=0)
    return float(scores[:, counts].std(axis=1, dtype=np.float64).mean()) or 1.0


def log_probabilities(scores: Scores, places: Sequence[Places]) -> NDArray[np.float32]:
    """ln of the labels' probability under softmax(sharpness * scores): rows x orders x SHARPNESS."""
    by_sharpness = [_log_probability(scores, places, sharpness) for sharpness in SHARPNESS]
    return np.stack(by_sharpness, axis=-1).astype(np.float32)


def _log_probability(scores: Scores, places: Sequence[Places], sharpness: float) -> NDArray[np.float64]:
    """ln of the labels' probability at one sharpness, rows x orders; at least ln LEAST_PROBABILITY.

    The probability of an image with several labels is their sum.
    """
    values = scores.astype(np.float64) * sharpness
    values -= values.max(axis=1, keepdims=True)
    shares = np.exp(values, out=values)
    shares /= shares.sum(axis=1, keepdims=True)
    rows = np.arange(len(shares))
    labels = np.stack([shares[rows, [row[0] for row in order]] for order in places], axis=1)
    for place, order in enumerate(places):
        for row, own in enumerate(order):
            if len(own) > 1:
                labels[row, place] = shares[row, own].sum()
    return np.asarray(np.log(np.maximum(labels, LEAST_PROBABILITY)))


def canvas_of(dataset: Dataset, image: Surveyed, geometry: Geometry) -> Image:
    """An image after decoding, resizing and cropping."""
    decoded = Source(dataset, image).decoded(geometry)
    return np.ascontiguousarray(crop_step(resize_step(decoded, geometry), geometry))


def usable(
    dataset: Dataset, images: Sequence[Surveyed], geometries: Sequence[Geometry]
) -> tuple[list[Surveyed], list[str]]:
    """The images that every geometry accepts, and the reasons why others are left out."""
    accepted, left_out = [], []
    for image in images:
        try:
            _check_sizes(image, geometries)
            canvas_of(dataset, image, geometries[0])
        except ImageError as error:
            left_out.append(f"{image.sample.id}: {error.reason}")
        else:
            accepted.append(image)
    return accepted, left_out


def _check_sizes(image: Surveyed, geometries: Sequence[Geometry]) -> None:
    for geometry in geometries if image.status == "ok" else ():
        width, height = resized_size(image.width, image.height, geometry)
        if width * height > MAX_CANVAS_PIXELS:
            was = f"{image.width}x{image.height}"
            raise ImageError("too_large", f"{was} becomes {width}x{height} pixels")
