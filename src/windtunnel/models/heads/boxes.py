"""Graphs that end in boxes, scores and classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.models.heads import Candidates, DetectionHead, HeadSettings, best_classes

FORMATS = ("xyxy", "xywh", "cxcywh")


class Boxes(DetectionHead):
    """Boxes (n, m, 4), scores (n, m) or (n, m, classes), and classes (n, m) if scores have none."""

    name = "boxes"
    help = "boxes (n, m, 4), scores (n, m) and classes (n, m); or scores (n, m, classes) alone"

    def candidates(
        self, outputs: Mapping[str, NDArray[Any]], size: tuple[int, int], settings: HeadSettings
    ) -> list[Candidates]:
        """The boxes as they are."""
        if settings.box_format not in FORMATS:
            raise unknown_name("box_format", settings.box_format, FORMATS)
        boxes, scores, classes = self._named(outputs, settings)
        boxes = _corners(boxes.astype(np.float64), settings.box_format)
        if settings.relative:
            boxes = boxes * np.array([size[1], size[0]] * 2)
        images = []
        for place in range(len(boxes)):
            if classes is None:
                best, named = best_classes(scores[place])
            else:
                best, named = scores[place].astype(np.float32), classes[place].astype(np.int32)
            images.append((boxes[place].astype(np.float32), best, named - np.int32(settings.class_offset)))
        return images

    def class_count(self, outputs: Mapping[str, NDArray[Any]], settings: HeadSettings) -> int | None:
        """The last axis of scores of every class."""
        _, scores, classes = self._named(outputs, settings)
        return None if classes is not None else int(scores.shape[-1])

    def _named(
        self, outputs: Mapping[str, NDArray[Any]], settings: HeadSettings
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
        """Boxes, scores and classes by their declared names, or by the order of the outputs."""
        order = list(outputs)
        names = [settings.boxes, settings.scores, settings.classes]
        for place, name in enumerate(names):
            if name and name not in outputs:
                raise unknown_name("output in [detector]", name, order)
            names[place] = name or (order[place] if place < len(order) else "")
        boxes, scores = (np.asarray(outputs[name]) for name in names[:2] if name)
        with_classes = scores.ndim == 3 and scores.shape[-1] > 1
        scores = scores if with_classes else scores.reshape(boxes.shape[:2])
        if boxes.ndim != 3 or boxes.shape[-1] != 4 or scores.shape[:2] != boxes.shape[:2]:
            raise UserError(
                f"The head {self.name} reads boxes (n, m, 4) and scores (n, m), not {boxes.shape} and "
                f"{scores.shape}; name the outputs in [detector]."
            )
        if with_classes:
            return boxes, scores, None
        if not names[2]:
            raise UserError(f"The head {self.name} has no classes: the graph has {', '.join(order)}.")
        return boxes, scores, np.asarray(outputs[names[2]]).reshape(boxes.shape[:2])


def _corners(boxes: NDArray[np.float64], box_format: str) -> NDArray[np.float64]:
    """Boxes as left, top, right and bottom."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if box_format == "xywh":
        return np.concatenate([first, first + second], axis=-1)
    if box_format == "cxcywh":
        return np.concatenate([first - second / 2, first + second / 2], axis=-1)
    return boxes


boxes = Boxes()
