"""The prediction stage: batches of a chunk become rows of a shard, by one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windtunnel.core.errors import ImageError, RunFailed, UserError
from windtunnel.core.option_names import option
from windtunnel.core.samples import Surveyed
from windtunnel.engine.jobs import Advance
from windtunnel.engine.pixels import Batch, Difference, Event, Failure, make_batches
from windtunnel.engine.shard_rows import NOT_FINITE_REASON, ShardRows
from windtunnel.engine.work import Work
from windtunnel.models import Model, probe_images
from windtunnel.models.memory import predict_within_memory
from windtunnel.models.numerics import variant_of


def score_chunk(
    works: Sequence[Work], models: Sequence[Model], images: Sequence[Surveyed], advance: Advance
) -> list[pa.Table]:
    """The rows of a chunk for every model; images that models have in common are made once.

    Args:
        works: what the run of each model asks for.
        models: the models.
        images: the chunk's images.
        advance: called with the number of finished predictions and of failed images.
    """
    shards = [
        ChunkPredictions(work, model, images, advance) for work, model in zip(works, models, strict=True)
    ]
    for event in make_batches([work.pixels for work in works], images):
        shards[event.run].accept(event)
    return [shard.table() for shard in shards]


class ChunkPredictions:
    """The predictions of one model on the images of a chunk, filled in as batches arrive."""

    def __init__(self, work: Work, model: Model, images: Sequence[Surveyed], advance: Advance) -> None:
        self._work = work
        self._model = model
        # variant_of keeps the networks it has made.
        self._networks = {name: variant_of(model, name) if name else model for name in work.pixels.batches}
        self._images = images
        self._advance = advance
        self._rows = ShardRows(work.task, work.postprocessor, images, work.pixels.conditions, work.keep)
        self._failed: set[str] = set()

    def accept(self, event: Event) -> None:
        """Predict a batch, or note a failure or a difference from the canvas."""
        match event:
            case Batch():
                self._predict(event.images, event.places, self._networks[event.numerics])
            case Failure():
                self._fail(event.place, event.error)
            case Difference():
                self._rows.note_pixels(event.place, event.mean, event.largest)

    def table(self) -> pa.Table:
        """The rows as a shard stores them, sorted by image and condition; failures are rows too."""
        return self._rows.table()

    def _fail(self, place: int, error: ImageError) -> None:
        """Note that a row has no prediction, and why."""
        views = self._work.pixels.views
        number, offset = divmod(place, len(views))
        id_ = self._images[number].sample.id
        if self._work.strict:
            raise UserError(
                f"{id_} under {views[offset][0].name}: {error.reason}. "
                f"{option('strict', True)} stops at the first such image."
            )
        self._rows.fail(place, error)
        self._advance(1, 0 if id_ in self._failed else 1)
        self._failed.add(id_)

    def _predict(self, batch: NDArray[np.uint8], places: Sequence[int], network: Model) -> None:
        """Predict one batch; if the network fails on it, its images are tried one by one."""
        try:
            outputs = predict_within_memory(network, batch)
        except RunFailed:  # of a server that cannot be reached: no image is to blame
            raise
        except Exception as error:  # the model's own code
            if len(places) > 1:
                for row, place in enumerate(places):
                    self._predict(batch[row : row + 1], [place], network)
                return
            self._check_model(error)
            self._fail(places[0], ImageError("model_error", f"{type(error).__name__}: {error}"[:300]))
            return
        self._keep(np.array(places), outputs)

    def _check_model(self, error: Exception) -> None:
        """Stop if the model no longer takes the images it was probed with: then no image is to blame."""
        try:
            self._model.predict(probe_images(self._model.preprocess, 1, self._model.probe_size))
        except Exception:  # the model's own code
            raise RunFailed(f"the model fails on every image: {type(error).__name__}: {error}") from error

    def _keep(self, places: NDArray[np.int64], outputs: Any) -> None:
        # Overflow depends on the model: the prediction is wrong, and the image is kept in all scores.
        finite = self._rows.add(places, outputs)
        for place in places[~finite].tolist():
            if self._work.strict and not self._work.pixels.numerics(place):
                self._fail(place, ImageError("not_finite", NOT_FINITE_REASON))
        self._advance(len(places), 0)
