"""The detections of a run, matched with annotated objects under every condition."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.kernels.average_precision import TRUE_POSITIVE, average_precisions, match_boxes
from windtunnel.metrics.complete_images import CompleteImages, check_finished, failed_images
from windtunnel.tasks.detection import detection

if TYPE_CHECKING:
    from windtunnel.store.run import StoredRun

# The overlaps of COCO's AP: .50, .55 ... .95.
THRESHOLDS = np.linspace(0.5, 0.95, 10)
COLUMNS = ("status", "reason", "boxes", "scores", "categories")
B = TypeVar("B", bound="Boxes")


@dataclass(frozen=True)
class Boxes:
    """Boxes of many images.

    Attributes:
        image: the number of each box's image.
        category: its category; -1 for a category that the data does not have.
        box: left, top, right and bottom.
    """

    image: NDArray[np.int64]
    category: NDArray[np.int64]
    box: NDArray[np.float64]


@dataclass(frozen=True)
class TrueBoxes(Boxes):
    """Annotated objects; `crowd` marks groups, in which detections do not count."""

    crowd: NDArray[np.bool_]


@dataclass(frozen=True)
class FoundBoxes(Boxes):
    """Detections with their scores; within an image by falling score."""

    score: NDArray[np.float32]


@dataclass
class Matches:
    """The detections of one condition matched with objects, as a function of image weights.

    Attributes:
        images: the number of images.
        outcome: for each detection and threshold, whether it is a true positive.
        found: the detections, by category, then by falling score.
        true: the objects that are no crowd, by category.
    """

    images: int
    found: FoundBoxes
    outcome: NDArray[np.int8]
    true: TrueBoxes
    _latest: tuple[NDArray[np.float64], NDArray[np.float64]] | None = field(default=None, repr=False)
    _precisions: dict[bytes, NDArray[np.float64]] = field(default_factory=dict, repr=False)

    def precisions(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Average precision at every threshold (replicates, thresholds), for weights (replicates, images)."""
        if self._latest is not None and self._latest[0] is weights:
            return self._latest[1]
        weights = np.ascontiguousarray(weights, np.float64)
        key = hashlib.blake2b(weights.data, digest_size=16).digest()
        if key not in self._precisions:
            self._precisions[key] = average_precisions(
                self._starts(self.found.category),
                self.found.image,
                self.outcome,
                self._starts(self.true.category),
                self.true.image,
                weights,
            )
        if len(weights) > 1:
            self._latest = weights, self._precisions[key]
        return self._precisions[key]

    @cached_property
    def per_image(self) -> NDArray[np.float64]:
        """The true positives and the detections of every image, summed over thresholds."""
        right = (self.outcome == TRUE_POSITIVE).sum(axis=1)
        return np.stack(
            [
                np.bincount(self.found.image, right, self.images),
                np.bincount(self.found.image, minlength=self.images).astype(float),
            ],
            axis=1,
        )

    def without_boxes(self) -> Matches:
        """The same without the boxes of detections, which take most of the memory."""
        return replace(self, found=replace(self.found, box=np.zeros((0, 4))))

    def _starts(self, category: NDArray[np.int64]) -> NDArray[np.int64]:
        count = 1 + max(int(self.found.category.max(initial=-1)), int(self.true.category.max(initial=-1)), 0)
        return np.searchsorted(category, np.arange(count + 1))


def match(
    found: FoundBoxes, true: TrueBoxes, images: int, thresholds: NDArray[np.float64] = THRESHOLDS
) -> Matches:
    """Match detections with objects of the same image and category, the best detection first."""
    known = found.category >= 0
    found = taken(found, np.flatnonzero(known))
    categories = 1 + max(int(found.category.max(initial=-1)), int(true.category.max(initial=-1)), 0)
    found = taken(found, np.lexsort((-found.score, found.category, found.image)))
    true = taken(true, np.lexsort((true.crowd, true.category, true.image)))
    outcome = match_boxes(
        found.image * categories + found.category,
        found.box,
        true.image * categories + true.category,
        true.box,
        true.crowd,
        thresholds,
    )
    order = np.lexsort((-found.score, found.category))
    objects = taken(true, np.flatnonzero(~true.crowd))
    objects = taken(objects, np.argsort(objects.category, kind="stable"))
    return Matches(images, taken(found, order), outcome[order], objects)


def without_categories(boxes: B) -> B:
    """The boxes of all categories of the data as boxes of one, for localisation.

    As in COCO's evaluation without categories, ties are decided by the order of the categories.
    """
    order = np.lexsort((boxes.category, boxes.image))
    boxes = taken(boxes, order[boxes.category[order] >= 0])
    return type(boxes)(**{**vars(boxes), "category": np.zeros_like(boxes.category)})


def taken(boxes: B, rows: NDArray[np.int64]) -> B:
    """Some of the boxes, in the order of the rows."""
    return type(boxes)(**{name: values[rows] for name, values in vars(boxes).items()})


class DetectedRun(CompleteImages):
    """The detections and objects of the images that every condition of a run has a prediction of.

    Images without objects are scored too: detections in them are false positives.

    Attributes:
        with_unlabelled: the same.
        true: the annotated objects.
    """

    def __init__(self, run: StoredRun) -> None:
        if run.annotations is None:
            raise UserError(f"{run.path} has no annotated objects; its detections cannot be scored.")
        self._table = run.predictions(COLUMNS)
        self._views = run.views
        self._ids = np.array(run.samples["id"].to_pylist(), object)
        self.conditions = tuple(condition.name for condition in run.conditions)
        check_finished(run, len(self._table) // run.views)
        status = self._table["status"]
        ok = _matrix(pc.is_in(status, pa.array(detection.predicted)), run.views)
        self.complete = self.kept = np.asarray(ok.all(axis=1), np.bool_)
        self._not_finite = _matrix(pc.equal(status, "not_finite"), run.views)[self.kept]
        self.left_out, self.unlabelled, self.tie_share = int((~self.complete).sum()), 0, None
        self.unscored = failed_images(ok, status, self._table["reason"], self._ids, np.array(self.conditions))
        self.true = _true_boxes(run.annotations, self.ids.tolist())
        self.with_unlabelled = self
        self._cached: dict[tuple[str, bool], Matches] = {}

    @property
    def not_finite(self) -> NDArray[np.bool_]:
        """Where the output is not finite (images, conditions); it counts as no detection."""
        return self._not_finite

    @property
    def objects(self) -> int:
        """The number of annotated objects that are no crowd."""
        return int((~self.true.crowd).sum())

    def matches(self, condition: str, *, localisation: bool = False) -> Matches:
        """The matches of a condition; with `localisation`, whatever the categories."""
        key = condition, localisation
        if key not in self._cached:
            found, true = self.found(condition), self.true
            if localisation:
                found, true = without_categories(found), without_categories(true)
            self._cached[key] = match(found, true, len(self.ids)).without_boxes()
        return self._cached[key]

    def found(self, condition: str) -> FoundBoxes:
        """The detections under a condition."""
        rows = self._table.take(np.flatnonzero(self.kept) * self._views + self.column(condition))
        scores = rows["scores"].combine_chunks()
        counts = np.asarray(pc.fill_null(pc.list_value_length(scores), 0), np.int64)
        boxes = np.asarray(rows["boxes"].combine_chunks().flatten().flatten(), np.float64).reshape(-1, 4)
        return FoundBoxes(
            np.repeat(np.arange(len(self.ids)), counts),
            np.asarray(rows["categories"].combine_chunks().flatten(), np.int64),
            boxes,
            np.asarray(scores.flatten(), np.float32),
        )


def _matrix(values: pa.ChunkedArray, views: int) -> NDArray[np.bool_]:
    """A column of truths as a matrix (images, conditions)."""
    return np.asarray(values.to_numpy().reshape(-1, views), np.bool_)


def _true_boxes(table: pa.Table, ids: list[str]) -> TrueBoxes:
    place = {id_: number for number, id_ in enumerate(ids)}
    image = np.array([place.get(id_, -1) for id_ in table["sample_id"].to_pylist()], np.int64)
    box = np.asarray(table["box"].combine_chunks().flatten(), np.float64).reshape(-1, 4)
    box = np.concatenate([box[:, :2], box[:, :2] + box[:, 2:]], axis=1)
    every = TrueBoxes(
        image, np.asarray(table["category"], np.int64), box, np.asarray(table["crowd"].to_pylist(), bool)
    )
    return taken(every, np.flatnonzero(image >= 0))
