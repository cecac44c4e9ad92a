"""Python callables as detectors: what they return for a batch, as detections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.detections import Detections, detections_of
from windtunnel.core.errors import UserError
from windtunnel.models import behaviour
from windtunnel.models.onnx_detector import DETECTION, check_whole
from windtunnel.models.preprocess import Declaration
from windtunnel.models.python import CallableModel

FORMS = (
    "return for every image a dict with boxes (m, 4), scores (m) and labels (m), or an array (m, 6) of left, "
    "top, right, bottom, score and label"
)


class ReturnsDetections(CallableModel):
    """A detector that is a Python callable; its boxes are in pixels of the images that it is given."""

    task = DETECTION

    def predict(self, batch: NDArray[np.uint8]) -> Detections:  # type: ignore[override]  # of another task
        """The detections of a batch of uint8 NHWC images, in pixels of these images."""
        return checked_detections(self._predictor(batch), len(batch), self.class_count, self.name)

    def _declare(self, declaration: Declaration) -> None:
        """The declared classes, since boxes do not tell their number."""
        check_whole(self.preprocess.geometry, self.name)
        if not declaration.labels:
            raise UserError(
                f"{self.name} is a detector, and its boxes do not tell the number of classes; declare labels "
                "in its TOML file, in the order of its label numbers from 0."
            )
        self.classes, self.class_count = declaration.labels, len(declaration.labels)
        self.outputs, self.outputs_from = "logits", "declared"

    def _learn(self, declaration: Declaration, probe: Any) -> str:
        """The behaviour on the probe images."""
        del declaration
        values = [probe.counts, probe.boxes.reshape(-1), probe.scores, probe.classes]
        return behaviour(np.concatenate([np.asarray(value, np.float32) for value in values])[None])

    def _all_finite(self, outputs: Any) -> bool:
        return bool(np.isfinite(outputs.boxes).all() and np.isfinite(outputs.scores).all())


class CallableDetector(ReturnsDetections):
    """A detector that is a callable from uint8 NHWC images to boxes."""


def checked_detections(returned: Any, count: int, classes: int, name: str) -> Detections:
    """What a detector returns for `count` images as detections; refuses other forms."""
    if isinstance(returned, Detections):
        return returned
    if not isinstance(returned, Sequence | np.ndarray) or len(returned) != count:
        what = f"{len(returned)} items" if hasattr(returned, "__len__") else type(returned).__name__
        raise UserError(f"{name} returns {what} for {count} image(s); {FORMS}.")
    return detections_of([_boxes_of(image, classes, name) for image in returned])


def _boxes_of(image: Any, classes: int, name: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Boxes, scores and labels of one image, checked."""
    if isinstance(image, Mapping):
        missing = [key for key in ("boxes", "scores", "labels") if key not in image]
        if missing:
            raise UserError(f"{name} returns a dict without {missing[0]}; {FORMS}.")
        boxes, scores, labels = (_array(image[key]) for key in ("boxes", "scores", "labels"))
    else:
        table = _array(image)
        if table.size == 0:
            table = np.zeros((0, 6))
        if table.ndim != 2 or table.shape[1] != 6:
            raise UserError(f"{name} returns an array of shape {table.shape} for an image; {FORMS}.")
        boxes, scores, labels = table[:, :4], table[:, 4], table[:, 5]
    boxes = boxes.reshape(-1, 4) if boxes.size == 0 else boxes
    if boxes.ndim != 2 or boxes.shape[1] != 4 or not len(boxes) == scores.size == labels.size:
        raise UserError(
            f"{name} returns boxes of shape {boxes.shape} with {scores.size} scores and {labels.size} "
            f"labels; {FORMS}."
        )
    wrong = labels[~((labels >= 0) & (labels < classes) & (labels == np.floor(labels)))]
    if wrong.size:
        raise UserError(
            f"{name} returns the label {wrong.reshape(-1)[0]}, but {classes} labels are declared, numbered "
            f"from 0 to {classes - 1}; correct labels in its TOML file."
        )
    return boxes, scores.reshape(-1), labels.reshape(-1)


def _array(value: Any) -> NDArray[Any]:
    """An array, also of a tensor on another device."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().float().numpy()
    return np.asarray(value, np.float64)
