"""The rows of a shard, filled in any order: predictions of the engine, and predictions made elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import ImageError, Status
from windtunnel.core.samples import Surveyed
from windtunnel.core.task import Postprocessor, Task
from windtunnel.store.rows import PIXELS, schema

STATUSES = np.array(get_args(Status))
OK, NOT_FINITE, MODEL_ERROR = (
    get_args(Status).index(status) for status in ("ok", "not_finite", "model_error")
)
NOT_FINITE_REASON = "the model's output is not finite"
NOT_GIVEN = "no prediction was given"


class ShardRows:
    """Rows of images under conditions, sorted by image, condition and frame.

    A row takes the bytes of the task's columns (about 60 for classification); kept outputs take four bytes
    per number. A row that is never filled has the status `model_error`.
    """

    def __init__(
        self,
        task: Task,
        postprocessor: Postprocessor,
        images: Sequence[Surveyed],
        conditions: Sequence[Condition],
        keep: Collection[str],
    ) -> None:
        self._task, self._postprocessor = task, postprocessor
        self._images = images
        self._views = [(condition, frame) for condition in conditions for frame in range(condition.frames)]
        count = len(images) * len(self._views)
        self.predicted = np.zeros(count, bool)
        self._columns = postprocessor.empty(count)
        self._status = np.full(count, MODEL_ERROR, np.int8)
        self._reasons: dict[int, str] = {}
        kept = np.array([condition.name in keep for condition, _ in self._views])
        # For every view the position of its outputs among the kept outputs of an image, -1 if not kept.
        self._slots = np.where(kept, np.cumsum(kept) - 1, -1)
        self._slot_count = int(kept.sum())
        self._outputs = np.zeros((len(images) * self._slot_count, postprocessor.width), np.float32)
        self._with_pixels = any(condition.is_pipeline_step for condition in conditions)
        self._pixels: dict[int, tuple[float, int]] = {}

    def add(self, rows: NDArray[np.int64], outputs: Any) -> NDArray[np.bool_]:
        """Fill rows with predictions; returns which of them are finite."""
        self.predicted[rows] = True
        finite = self._postprocessor.finite(outputs)
        self._status[rows[~finite]] = NOT_FINITE
        rows, outputs = rows[finite], outputs[finite]
        self._status[rows] = OK
        images, views = np.divmod(rows, len(self._views))
        columns = self._postprocessor.columns(outputs, [self._images[image] for image in images])
        for name, values in columns.items():
            self._columns[name][rows] = values
        slots = self._slots[views]
        kept = slots >= 0
        if kept.any():
            self._outputs[(images * self._slot_count + slots)[kept]] = outputs[kept]
        return finite

    def fail(self, row: int, error: ImageError) -> None:
        """Record that a row has no prediction, and why."""
        self._status[row] = get_args(Status).index(error.status)
        self._reasons[row] = error.reason

    def note_pixels(self, row: int, mean: float, largest: int) -> None:
        """Record the mean and largest difference of an image from the canvas, in grey levels."""
        self._pixels[row] = mean, largest

    def table(self, start: int = 0, stop: int | None = None) -> pa.Table:
        """The rows of the images from `start` to `stop`, as a shard stores them."""
        samples = [image.sample for image in self._images[start:stop]]
        first = start * len(self._views)
        part = slice(first, first + len(samples) * len(self._views))
        status = STATUSES[self._status[part]]
        by_row = [sample for sample in samples for _ in self._views]
        columns = {
            "sample_id": [sample.id for sample in by_row],
            "condition": [condition.name for condition, _ in self._views] * len(samples),
            "frame": [frame for _, frame in self._views] * len(samples),
            **self._postprocessor.arrays(
                {name: column[part] for name, column in self._columns.items()}, by_row, status
            ),
            "status": status,
            "reason": self._reason_column(part),
            **self._pixel_columns(part),
        }
        if self._task.outputs is not None:
            columns[self._task.outputs.name] = self._kept_outputs(start, len(samples), status == "ok")
        wanted = schema(self._task, with_outputs=self._slot_count > 0, with_pixels=self._with_pixels)
        return pa.table([pa.array(columns[field.name], field.type) for field in wanted], schema=wanted)

    def _reason_column(self, rows: slice) -> list[str | None]:
        """Why each row has no finite prediction; None if it has one."""
        reasons: list[str | None] = [None] * (rows.stop - rows.start)
        for place in np.flatnonzero(self._status[rows] != OK).tolist():
            row = rows.start + place
            reasons[place] = self._reasons.get(row, NOT_FINITE_REASON if self.predicted[row] else NOT_GIVEN)
        return reasons

    def _pixel_columns(self, rows: slice) -> dict[str, Sequence[float | None]]:
        """The differences from the canvas, if any condition swaps a pipeline step."""
        if not self._with_pixels:
            return {}
        pixels = [self._pixels.get(row, (None, None)) for row in range(rows.start, rows.stop)]
        return {field.name: values for field, values in zip(PIXELS, zip(*pixels, strict=True), strict=True)}

    def _kept_outputs(self, start: int, images: int, ok: NDArray[np.bool_]) -> pa.Array:
        """The outputs of `images` images as lists, null where they are not kept or not predicted."""
        kept = ok & np.tile(self._slots >= 0, images)
        outputs = self._outputs[start * self._slot_count : (start + images) * self._slot_count]
        outputs = outputs[ok.reshape(images, -1)[:, self._slots >= 0].ravel()]
        lengths = np.where(kept, self._postprocessor.width, 0)
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
        flat = pa.array(outputs.reshape(-1), pa.float32())
        return pa.ListArray.from_arrays(offsets, flat, mask=pa.array(~kept))
