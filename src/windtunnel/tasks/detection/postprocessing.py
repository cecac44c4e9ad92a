"""Postprocessing: from a detector's boxes to a shard's columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windtunnel.core.detections import Detections
from windtunnel.core.images import UPRIGHT
from windtunnel.core.records import GeometryRecord
from windtunnel.core.samples import Sample, Surveyed
from windtunnel.core.task import Postprocessor
from windtunnel.imaging.geometry import Geometry, boxes_in_source

COLUMNS: tuple[pa.Field, ...] = (
    # Left, top, right and bottom in pixels of the decoded image, best score first.
    pa.field("boxes", pa.list_(pa.list_(pa.float32(), 4))),
    pa.field("scores", pa.list_(pa.float32())),
    # Categories of the data; -1 for classes that the data does not have.
    pa.field("categories", pa.list_(pa.int32())),
)
# EXIF orientations that exchange width and height.
TRANSPOSED = (5, 6, 7, 8)


@dataclass(frozen=True)
class DetectionPostprocessor(Postprocessor):
    """Boxes in pixels of the decoded image, with the data's categories.

    Attributes:
        geometry: how the detector's input was made of an image.
        labels: for every category of the data the model's output, -1 for none.
        classes: the number of classes of the detector.
        width: zero, as no further outputs are kept.
    """

    geometry: GeometryRecord
    labels: tuple[int, ...]
    classes: int
    width: int = 0

    @cached_property
    def _categories(self) -> NDArray[np.int32]:
        """The data's category of every output, -1 for none."""
        categories = np.full(self.classes, -1, np.int32)
        for category, output in enumerate(self.labels):
            if output >= 0:
                categories[output] = category
        return categories

    def finite(self, outputs: Detections) -> NDArray[np.bool_]:
        """Which images have finite boxes and scores only."""
        sound = np.isfinite(outputs.boxes).all(axis=1) & np.isfinite(outputs.scores)
        image = np.repeat(np.arange(len(outputs)), outputs.counts)
        return np.asarray(np.bincount(image[~sound], minlength=len(outputs)) == 0, np.bool_)

    def empty(self, count: int) -> dict[str, NDArray[Any]]:
        """Columns without any box."""
        columns = {field.name: np.empty(count, object) for field in COLUMNS}
        for place in range(count):
            columns["boxes"][place] = np.zeros((0, 4), np.float32)
            columns["scores"][place] = np.zeros(0, np.float32)
            columns["categories"][place] = np.zeros(0, np.int32)
        return columns

    def columns(self, outputs: Detections, images: Sequence[Surveyed]) -> dict[str, NDArray[Any]]:
        """The columns of finite outputs."""
        geometry = Geometry.of(self.geometry)
        boxes = outputs.by_image(outputs.boxes)
        for place, image in enumerate(images):
            size = image.width, image.height
            if geometry.exif == "apply" and image.orientation != UPRIGHT and image.orientation in TRANSPOSED:
                size = size[::-1]
            boxes[place] = boxes_in_source(boxes[place], *size, geometry)
        return {
            "boxes": boxes,
            "scores": outputs.by_image(outputs.scores),
            "categories": outputs.by_image(self._categories[outputs.classes]),
        }

    def arrays(
        self, columns: Mapping[str, NDArray[Any]], samples: Sequence[Sample], status: NDArray[np.str_]
    ) -> dict[str, pa.Array]:
        """The columns as lists; rows without a prediction have nulls."""
        del samples
        missing = status != "ok"
        counts = np.array(
            [0 if lost else len(values) for values, lost in zip(columns["scores"], missing, strict=True)]
        )
        offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
        mask = pa.array(missing)
        kept = {
            name: [values for values, lost in zip(column, missing, strict=True) if not lost]
            for name, column in columns.items()
        }
        boxes = np.concatenate([np.zeros((0, 4), np.float32), *kept["boxes"]]).astype(np.float32)
        flat = {
            "boxes": pa.FixedSizeListArray.from_arrays(pa.array(boxes.reshape(-1), pa.float32()), 4),
            "scores": pa.array(np.concatenate([np.zeros(0, np.float32), *kept["scores"]]), pa.float32()),
            "categories": pa.array(np.concatenate([np.zeros(0, np.int32), *kept["categories"]]), pa.int32()),
        }
        return {
            field.name: pa.ListArray.from_arrays(offsets, flat[field.name], type=field.type, mask=mask)
            for field in COLUMNS
        }
