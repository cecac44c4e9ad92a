"""Misclassified images, regenerated from the recipe, with predictions and saliency maps."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from windtunnel.core.images import Image
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.saliency import Explain, SaliencyMap, explain_nothing
from windtunnel.report.sections import Content, Document, ReportInput, Section
from windtunnel.report.source_images import (
    THUMBNAIL_PX,
    class_names,
    evaluated_rows,
    label_names,
    missing_data_note,
    open_source_images,
    thumbnail,
    unmodified_condition,
)

IMAGES = 12
PER_UNIT = 2


class MisclassifiedImages(Section):
    """Misclassified images, the most confident predictions first."""

    name = "misclassified-images"
    title = "Misclassified images"
    help = "Images correct when clean and misclassified under mild corruptions; saliency maps with --explain."
    order = 1400

    def applies(self, document: Document) -> bool:
        return bool(document["scores"])

    def content(self, document: Document, inputs: ReportInput) -> Content:
        return Content(
            {
                "shown": worst_failures(inputs.run, inputs.explain),
                "corrupted": any(condition.is_corruption for condition in inputs.run.conditions),
            }
        )


@dataclass(frozen=True)
class Failure:
    """A misclassified image.

    Attributes:
        image: its id.
        condition: the condition under which it is misclassified.
        label: the names of its classes.
        predicted_clean, predicted: the class predicted on the clean image and under the condition.
        confidence_clean, confidence: their probabilities; None if the run has no probabilities.
        clean_image, condition_image: the two images as data URIs.
        saliency: the saliency map of `predicted`, if it was asked for.

    If the run modifies no image, the attributes of the clean image are empty.
    """

    image: str
    condition: str
    label: str
    predicted_clean: str
    predicted: str
    confidence_clean: float | None
    confidence: float | None
    clean_image: str
    condition_image: str
    saliency: SaliencyMap | None = None


@dataclass(frozen=True)
class Shown:
    """The misclassified images to show, and a note on those that are missing."""

    failures: list[Failure]
    note: str


def worst_failures(run: ScoredRun, explain: Explain = explain_nothing, count: int = IMAGES) -> Shown:
    """Images that are correct when clean and misclassified under mild corruptions, as the model saw them.

    Mild severities come first, then confident predictions. An image is shown once, a corruption at most
    twice. If the run modifies no image: the most confident misclassified images, a class at most twice.
    """
    observed = run.observed
    unmodified = all(condition.is_unmodified for condition in run.conditions)
    if not unmodified and "clean" not in observed.conditions:
        return Shown([], "The run has no clean images, so no misclassified images are shown.")
    chosen = _choose_unmodified(run, count) if unmodified else _choose_corrupted(run, count)
    if not chosen:
        what = "misclassified" if unmodified else "correct when clean and misclassified under a corruption"
        return Shown([], f"No image is {what}.")
    sources = open_source_images(run)
    if sources is None:
        return Shown([], missing_data_note(run))
    regenerated: list[tuple[int, int, Image | None, Image]] = []
    for row, column in chosen:
        conditions = [*([] if unmodified else ["clean"]), observed.conditions[column]]
        frames = sources.frames_under(str(observed.ids[row]), *conditions)
        if frames:
            regenerated.append((row, column, None if unmodified else frames[0][0], frames[-1][0]))
    explained = [(image, int(observed.chosen[row, column])) for row, column, _, image in regenerated]
    saliency = explain(explained, THUMBNAIL_PX)
    failures = [
        _failure(run, *entry, saliency_map)
        for entry, saliency_map in zip(regenerated, saliency.maps, strict=True)
    ]
    return Shown(failures, " ".join(filter(None, (sources.note, saliency.note))))


def _choose_unmodified(run: ScoredRun, count: int) -> list[tuple[int, int]]:
    """Rows and columns of the most confident misclassified images of a run that modifies no image."""
    observed, name = run.observed, unmodified_condition(run)
    if not name:
        return []
    column, rows = observed.column(name), evaluated_rows(run)
    # A prediction that is not finite has no class that could be shown or explained.
    wrong = rows[observed.wrong[rows, column] & ~observed.not_finite[rows, column]]
    confidence = observed.confidence[wrong, column] if observed.gives_probabilities else np.zeros(len(wrong))
    per_label: Counter[tuple[int, ...]] = Counter()
    chosen: list[tuple[int, int]] = []
    for row in wrong[np.argsort(-confidence, kind="stable")]:
        label = observed.labels[row]
        if per_label[label] < PER_UNIT and len(chosen) < count:
            per_label[label] += 1
            chosen.append((int(row), column))
    return chosen


def _choose_corrupted(run: ScoredRun, count: int) -> list[tuple[int, int]]:
    """Rows and columns of images that are correct when clean and misclassified under a corruption."""
    observed = run.observed
    if not len(observed.ids):
        return []
    # Without probabilities the order within a severity is arbitrary.
    confidence = observed.confidence if observed.gives_probabilities else np.zeros(observed.wrong.shape)
    correct = observed.correct[:, observed.column("clean")]
    chosen_rows: set[int] = set()
    per_unit: Counter[str] = Counter()
    chosen: list[tuple[int, int]] = []
    corrupted = [
        (int(condition.level), column)
        for column, condition in enumerate(run.conditions)
        if condition.is_corruption
    ]
    for severity in sorted({level for level, _ in corrupted}):
        columns = [column for level, column in corrupted if level == severity]
        wrong = correct[:, None] & observed.wrong[:, columns] & ~observed.not_finite[:, columns]
        scores = np.where(wrong, confidence[:, columns], -np.inf)
        for cell in np.argsort(-scores, axis=None, kind="stable")[: count * len(columns)]:
            row, offset = divmod(int(cell), len(columns))
            unit = str(run.conditions[columns[offset]].unit)
            if not wrong[row, offset] or row in chosen_rows or per_unit[unit] >= PER_UNIT:
                continue
            chosen_rows.add(row)
            per_unit[unit] += 1
            chosen.append((row, columns[offset]))
            if len(chosen) == count:
                return chosen
    return chosen


def _failure(
    run: ScoredRun, row: int, column: int, clean: Image | None, image: Image, saliency: SaliencyMap | None
) -> Failure:
    observed = run.observed
    names = class_names(run)
    predicted = observed.chosen[row]
    clean_column = column if clean is None else observed.column("clean")
    confidence = observed.confidence[row] if observed.gives_probabilities else None
    return Failure(
        image=str(observed.ids[row]),
        condition=observed.conditions[column],
        label=label_names(run, observed.labels[row]),
        predicted_clean=""
        if clean is None
        else names.get(int(predicted[clean_column]), str(predicted[clean_column])),
        predicted=names.get(int(predicted[column]), str(predicted[column])),
        confidence_clean=None if clean is None or confidence is None else float(confidence[clean_column]),
        confidence=None if confidence is None else float(confidence[column]),
        clean_image="" if clean is None else thumbnail(clean, THUMBNAIL_PX),
        condition_image=thumbnail(image, THUMBNAIL_PX),
        saliency=saliency,
    )


misclassified_images = MisclassifiedImages()
