"""Detections: the boxes that a detector returns for a batch of images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The detections of an image that count, as in COCO's evaluation.
MOST_DETECTIONS = 100


@dataclass(frozen=True)
class Detections:
    """The boxes of a batch, image after image, and within an image by falling score.

    Attributes:
        counts: the number of boxes of every image.
        boxes: left, top, right and bottom of every box (m, 4), in pixels.
        scores: the confidence of every box.
        classes: the class of every box, an output of the model.
    """

    counts: NDArray[np.int64]
    boxes: NDArray[np.float32]
    scores: NDArray[np.float32]
    classes: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, rows: Any) -> Detections:
        """The detections of some images, given by a mask, indices or a slice."""
        chosen = np.arange(len(self.counts))[rows]
        ends = np.cumsum(self.counts)
        places = [np.arange(ends[row] - self.counts[row], ends[row]) for row in chosen]
        kept = np.concatenate(places) if places else np.zeros(0, np.int64)
        return Detections(self.counts[chosen], self.boxes[kept], self.scores[kept], self.classes[kept])

    def by_image(self, values: NDArray[Any]) -> NDArray[np.object_]:
        """Values of boxes (the scores, say) as one array for every image."""
        parts = np.empty(len(self.counts), object)
        parts[:] = np.split(values, np.cumsum(self.counts)[:-1]) if len(self.counts) else []
        return parts

    def best_scores(self, count: int = 10) -> NDArray[np.float32]:
        """The highest scores of every image (n, count), 0 where there are fewer boxes."""
        scores = np.zeros((len(self), count), np.float32)
        for row, values in enumerate(self.by_image(self.scores)):
            scores[row, : len(values)] = values[:count]
        return scores


def detections_of(
    images: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]], most: int = MOST_DETECTIONS
) -> Detections:
    """The detections of a batch from boxes, scores and classes of every image, the best `most` of each."""
    best = []
    for boxes, scores, classes in images:
        order = np.argsort(-np.asarray(scores, np.float32), kind="stable")[:most]
        best.append(
            (np.reshape(boxes, (-1, 4))[order], np.asarray(scores)[order], np.asarray(classes)[order])
        )
    return Detections(
        np.array([len(scores) for _, scores, _ in best], np.int64),
        np.concatenate([np.zeros((0, 4)), *(boxes for boxes, _, _ in best)]).astype(np.float32),
        np.concatenate([np.zeros(0), *(scores for _, scores, _ in best)]).astype(np.float32),
        np.concatenate([np.zeros(0), *(classes for _, _, classes in best)]).astype(np.int32),
    )


def joined(parts: list[Detections]) -> Detections:
    """The detections of several batches as those of one."""
    return Detections(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in Detections.__dataclass_fields__)
    )
