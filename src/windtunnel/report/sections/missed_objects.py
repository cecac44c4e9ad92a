"""Images in which a corruption costs the most objects, with boxes of objects and detections."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windtunnel.kernels.average_precision import TRUE_POSITIVE
from windtunnel.metrics.detections.matches import FoundBoxes, Matches
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.box_drawing import FOUND_COLOUR, TRUE_COLOUR, DrawnBox, draw_boxes
from windtunnel.report.sections import Content, Document, ReportInput, Section
from windtunnel.report.source_images import (
    missing_data_note,
    open_source_images,
    thumbnail,
    unmodified_condition,
)

IMAGES = 8
PER_UNIT = 1
IMAGE_PX = 420
# The place of IoU 0.50 among the thresholds.
IOU_50 = 0


class MissedObjects(Section):
    """The images that lose the most objects, clean next to corrupted."""

    name = "missed-objects"
    title = "Images with most missed objects"
    help = "Images in which a corruption costs the most objects: annotated boxes and detections are drawn."
    order = 1410
    tasks = ("detection",)

    def applies(self, document: Document) -> bool:
        return bool(document["scores"])

    def content(self, document: Document, inputs: ReportInput) -> Content:
        return Content({"shown": images_with_losses(inputs.run)})


@dataclass(frozen=True)
class Loss:
    """An image in which a corruption costs objects.

    Attributes:
        image: its id.
        condition: the corruption.
        objects: number of annotated objects.
        found_clean, found: number of objects found in the clean image and under the condition.
        clean_image, condition_image: the two images with boxes, as data URIs.
    """

    image: str
    condition: str
    objects: int
    found_clean: int
    found: int
    clean_image: str
    condition_image: str


@dataclass(frozen=True)
class Shown:
    """The images to show, the least score of detections that are drawn, and a note."""

    losses: list[Loss]
    least_score: float
    note: str


def images_with_losses(run: ScoredRun, count: int = IMAGES) -> Shown:
    """The images in which a corruption costs the most objects, compared with the clean image.

    An object is found if a detection of its category overlaps it by IoU 0.50 and has at least the score with
    the largest F1 on clean images. An image is shown once, and so is a corruption.
    """
    clean, detected = unmodified_condition(run), run.detected
    if not clean:
        return Shown([], 0.0, "The run has no clean images, so no missed objects are shown.")
    least = best_f1_score(detected.matches(clean))
    before = found_per_image(detected.matches(clean), least)
    chosen = _choose(run, before, least, count)
    if not chosen:
        return Shown([], least, "No corruption costs an object that is found in the clean image.")
    sources = open_source_images(run)
    if sources is None:
        return Shown([], least, missing_data_note(run))
    losses = []
    for row, condition, found in chosen:
        frames = sources.frames_under(str(detected.ids[row]), clean, condition)
        if frames is None:
            continue
        images = [
            thumbnail(draw_boxes(frame[0], drawn_boxes(run, row, name, least), IMAGE_PX), IMAGE_PX)
            for frame, name in zip(frames, (clean, condition), strict=True)
        ]
        objects = int(((detected.true.image == row) & ~detected.true.crowd).sum())
        losses.append(Loss(str(detected.ids[row]), condition, objects, int(before[row]), found, *images))
    return Shown(losses, least, sources.note)


def best_f1_score(matches: Matches) -> float:
    """The least score of the detections with the largest F1 at IoU 0.50; 0 without a true positive."""
    order = np.argsort(-matches.found.score, kind="stable")
    right = np.cumsum(matches.outcome[order, IOU_50] == TRUE_POSITIVE)
    if not len(right) or not right[-1]:
        return 0.0
    f1 = 2 * right / (np.arange(1, len(right) + 1) + len(matches.true.image))
    return float(matches.found.score[order][f1.argmax()])


def found_per_image(matches: Matches, least: float) -> NDArray[np.int64]:
    """The number of objects of every image that detections of at least this score find at IoU 0.50."""
    right = (matches.outcome[:, IOU_50] == TRUE_POSITIVE) & (matches.found.score >= least)
    return np.bincount(matches.found.image[right], minlength=matches.images)


def _choose(
    run: ScoredRun, before: NDArray[np.int64], least: float, count: int
) -> list[tuple[int, str, int]]:
    """Rows, conditions and objects found of the images to show, the largest loss first."""
    names = [condition.name for condition in run.corruptions]
    if not names or not len(before):
        return []
    found = np.stack([found_per_image(run.detected.matches(name), least) for name in names])
    lost = before - found
    rows: set[int] = set()
    per_unit: Counter[str] = Counter()
    chosen: list[tuple[int, str, int]] = []
    for cell in np.argsort(-lost, axis=None, kind="stable"):
        place, row = divmod(int(cell), len(before))
        unit = str(run.corruptions[place].unit)
        if lost[place, row] <= 0 or len(chosen) == count:
            break
        if row not in rows and per_unit[unit] < PER_UNIT:
            rows.add(row)
            per_unit[unit] += 1
            chosen.append((row, names[place], int(found[place, row])))
    return chosen


def drawn_boxes(run: ScoredRun, row: int, condition: str, least: float) -> list[DrawnBox]:
    """The annotated objects of an image, then its detections of at least this score."""
    detected, names = run.detected, run.info.data.classes
    true = detected.true.image == row
    boxes = [DrawnBox(tuple(box), TRUE_COLOUR) for box in detected.true.box[true]]
    found: FoundBoxes = detected.found(condition)
    for place in np.flatnonzero((found.image == row) & (found.score >= least) & (found.category >= 0)):
        text = f"{names[found.category[place]]} {found.score[place]:.2f}"
        boxes.append(DrawnBox(tuple(found.box[place]), FOUND_COLOUR, text))
    return boxes


missed_objects = MissedObjects()
