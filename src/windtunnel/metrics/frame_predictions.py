"""Predictions on every frame of a run's sequences: top five classes and scores."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windtunnel.metrics.stability import TOP

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun


class Clips:
    """The frames of a finished run's sequences.

    An image that fails in one frame is excluded from all sequences, so that all scores use the same images.
    A prediction that is not finite is no failure: every pair with that frame counts as changed.
    Stability needs no labels, since it measures changes between predictions. Where some images have
    labels, images without labels are excluded here too.

    Attributes:
        kept: which of the run's images are complete.
    """

    def __init__(self, run: ScoredRun) -> None:
        self._run = run
        self._places: dict[str, slice] = {}
        width = 0
        for condition in run.conditions:
            self._places[condition.name] = slice(width, width := width + condition.frames)
        self._width = width
        seen = run.observed
        self.kept: NDArray[np.bool_] = seen.kept if seen.kept.any() else seen.complete
        best = np.concatenate([_lists(shard["top"]) for shard in run.shards(["top"])])
        self._top = best.reshape(-1, width, TOP)[self.kept]
        self._measured: dict[Hashable, NDArray[Any]] = {}

    @cached_property
    def ids(self) -> NDArray[Any]:
        """The complete images' ids."""
        return np.array(self._run.samples["id"].to_pylist(), object)[self.kept]

    def top(self, condition: str) -> NDArray[np.int32]:
        """The top five classes, images x frames x 5, best first; -1 where there are fewer classes.

        All five are -1 where the prediction is not finite.
        """
        return self._top[:, self._places[condition]]

    def not_finite(self, condition: str) -> NDArray[np.bool_]:
        """Which predictions of a sequence are not finite, images x frames."""
        return self.top(condition)[:, :, 0] < 0

    def once(self, key: Hashable, measure: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """The result of `measure`, cached because several scores use the same distances."""
        if key not in self._measured:
            self._measured[key] = measure()
        return self._measured[key]

    def scores(self, condition: str) -> Iterator[NDArray[np.float32]]:
        """Scores of all competing classes, frames x classes, image by image; only if the run stored them.

        NaN where the prediction is not finite.
        """
        projection, classes = self._run.projection, int(self._run.recipe.model.classes)
        counts = projection.mask_for(classes)
        number = 0
        for shard in self._run.shards(["logits"]):
            rows = shard["logits"].combine_chunks()
            for start in range(0, len(rows), self._width):
                if self.kept[number]:
                    views = rows[start : start + self._width][self._places[condition]]
                    scores = [[np.nan] * classes if view is None else view for view in views.to_pylist()]
                    yield projection.apply(np.array(scores, np.float32))[:, counts]
                number += 1


def _lists(values: pa.ChunkedArray) -> NDArray[np.int32]:
    """Top fives as rows of classes; failed rows are -1."""
    parts = []
    for chunk in values.chunks:
        flat = chunk.fill_null([-1] * TOP) if chunk.null_count else chunk
        parts.append(np.asarray(flat.flatten(), np.int32).reshape(-1, TOP))
    return np.concatenate(parts)
