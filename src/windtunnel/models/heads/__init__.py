"""Detection heads: one file each, which declares how the outputs of a detector's graph become boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.detections import MOST_DETECTIONS, Detections, detections_of
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.registry import Plugin, Registry

# Boxes, scores and classes of one image, before non-maximum suppression.
Candidates = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int32]]


@dataclass(frozen=True)
class HeadSettings:
    """The settings of a detector, as `[detector]` in its TOML declares them.

    Attributes:
        head: the name of the head.
        score_threshold: the lowest score of a box; low, because average precision ranks all boxes.
        nms_iou: the overlap above which the lower of two boxes of a class is dropped; 1 for no suppression.
        most_detections: the boxes of an image that are kept, best first.
        boxes, scores, classes: the names of the graph's outputs, for the head `boxes`; "" for their order.
        box_format: `xyxy`, `xywh` or `cxcywh`, for the head `boxes`.
        relative: whether boxes are relative to the input's size, for the head `boxes`.
        class_offset: the class of the first output, for graphs that count from 1.
        strides: the strides of the head's maps, for `nanodet`.
        bins: the bins of a distance's distribution, for `nanodet`.
    """

    head: str
    score_threshold: float = 0.001
    nms_iou: float = 0.6
    most_detections: int = MOST_DETECTIONS
    boxes: str = ""
    scores: str = ""
    classes: str = ""
    box_format: str = "xyxy"
    relative: bool = False
    class_offset: int = 0
    strides: tuple[int, ...] = (8, 16, 32, 64)
    bins: int = 8

    def __post_init__(self) -> None:
        if self.head not in REGISTRY.names():
            raise unknown_name("head in [detector]", self.head, REGISTRY.names())
        for name, value in (("score_threshold", self.score_threshold), ("nms_iou", self.nms_iou)):
            if not 0 <= value <= 1:
                raise UserError(f"[detector] {name} is {value:g}; give a number from 0 to 1.")
        if not 1 <= self.most_detections <= MOST_DETECTIONS:
            raise UserError(
                f"[detector] most_detections is {self.most_detections}; give 1 to {MOST_DETECTIONS}, as many "
                "as the COCO evaluation counts."
            )


class DetectionHead(Plugin):
    """How the outputs of one family of detectors become boxes. A subclass declares facts and `candidates`.

    Attributes:
        name: for listings and for `head` in `[detector]`.
        help: a description in one line.
    """

    name: str = ""
    help: str = ""

    def __init__(self) -> None:
        missing = type(self).candidates is DetectionHead.candidates
        self.refuse_incomplete(("name", "help"), ["candidates(outputs, side, settings)"] if missing else [])

    def candidates(
        self, outputs: Mapping[str, NDArray[Any]], size: tuple[int, int], settings: HeadSettings
    ) -> list[Candidates]:
        """The boxes of every image of a batch, in pixels of the input.

        Args:
            outputs: the graph's outputs by name, in the graph's order.
            size: height and width of the input.
            settings: the settings of the detector.
        """
        raise NotImplementedError

    def class_count(self, outputs: Mapping[str, NDArray[Any]], settings: HeadSettings) -> int | None:
        """The number of classes by the shapes of the outputs; None if they do not tell."""
        del outputs, settings
        return None


REGISTRY: Registry[DetectionHead] = Registry("detection head", __name__, DetectionHead)


def decoded(
    head: DetectionHead, outputs: Mapping[str, NDArray[Any]], size: tuple[int, int], settings: HeadSettings
) -> Detections:
    """The detections of a batch: candidates above the threshold, without duplicates of the same class."""
    images = []
    for boxes, scores, classes in head.candidates(outputs, size, settings):
        # NaN stays and makes the output not finite; a class below 0 is the background of graphs that count
        # classes from 1.
        above = ~(scores < settings.score_threshold) & (classes >= 0)
        boxes, scores, classes = boxes[above], scores[above], classes[above]
        if settings.nms_iou < 1:
            kept = suppressed(boxes, scores, classes, settings.nms_iou)
            boxes, scores, classes = boxes[kept], scores[kept], classes[kept]
        images.append((boxes, scores, classes))
    return detections_of(images, settings.most_detections)


def suppressed(
    boxes: NDArray[np.float32], scores: NDArray[np.float32], classes: NDArray[np.int32], iou: float
) -> NDArray[np.int64]:
    """Non-maximum suppression for each class: the places of the boxes that stay, best first.

    A box is dropped if its overlap (intersection over union) with a better box of its class is above `iou`.
    """
    order = np.argsort(-scores, kind="stable")
    boxes, classes = boxes[order].astype(np.float64), classes[order]
    area = np.maximum(boxes[:, 2] - boxes[:, 0], 0) * np.maximum(boxes[:, 3] - boxes[:, 1], 0)
    open_ = np.ones(len(order), bool)
    kept = []
    for place in range(len(order)):
        if not open_[place]:
            continue
        kept.append(place)
        rest = np.flatnonzero(open_[place + 1 :] & (classes[place + 1 :] == classes[place])) + place + 1
        low = np.maximum(boxes[place, :2], boxes[rest, :2])
        high = np.minimum(boxes[place, 2:], boxes[rest, 2:])
        common = np.prod(np.maximum(high - low, 0), axis=1)
        union = area[place] + area[rest] - common
        open_[rest[common > iou * union]] = False
    return np.asarray(order[kept], np.int64)


def only_output(outputs: Mapping[str, NDArray[Any]], head: str) -> NDArray[Any]:
    """The output of a graph that has a single one."""
    if len(outputs) != 1:
        raise UserError(f"The head {head} reads one output; the graph has {', '.join(outputs)}.")
    return next(iter(outputs.values()))


def sigmoid(values: NDArray[Any]) -> NDArray[Any]:
    """The logistic function, without overflow."""
    return 0.5 * (1 + np.tanh(0.5 * values))


def best_classes(scores: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """The best class of every candidate and its score, given the scores (m, classes)."""
    classes = scores.argmax(axis=1)
    return scores[np.arange(len(scores)), classes].astype(np.float32), classes.astype(np.int32)


def texts_of(settings: HeadSettings) -> Sequence[str]:
    """The settings as texts, for a model's fingerprint."""
    return [f"{name}={getattr(settings, name)}" for name in settings.__dataclass_fields__]
