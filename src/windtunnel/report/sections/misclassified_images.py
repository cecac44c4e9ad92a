"""Images a model gets wrong, made again from the recipe: clean beside corrupted, and what it said."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from windtunnel.core.images import Image
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.saliency import Explain, Hanging, explain_nothing
from windtunnel.report.sections import Content, Document, ReportInput, Section
from windtunnel.report.source_images import (
    THUMBNAIL_PX,
    class_names,
    label_names,
    no_originals,
    open_originals,
    plain_condition,
    rows_in_question,
    thumbnail,
)

IMAGES = 12
PER_UNIT = 2


class MisclassifiedImages(Section):
    """Images that the model gets wrong, the most confident predictions first."""

    name = "misclassified-images"
    title = "Images it gets wrong"
    help = "Images correct when clean and wrong under mild corruptions, with saliency maps if asked for."
    order = 1400

    def applies(self, document: Document) -> bool:
        return bool(document["scores"])

    def content(self, document: Document, given: ReportInput) -> Content:
        conditions = document["recipe"]["conditions"]
        return Content(
            {
                "shown": worst_failures(given.run, given.explain),
                "corrupted": any(condition["kind"] == "corruption" for condition in conditions),
            }
        )


@dataclass(frozen=True)
class Failure:
    """An image that is wrong under a condition, and right clean where something was done to it.

    Of a run in which nothing was done to images `clean_image` and `said_clean` are empty.
    """

    image: str
    condition: str
    label: str
    said_clean: str
    said: str
    score_clean: float | None
    score: float | None
    clean_image: str
    spoilt_image: str
    hanging: Hanging | None = None


@dataclass(frozen=True)
class Shown:
    """Failures to look at, and why there are not more."""

    failures: list[Failure]
    note: str


def worst_failures(run: ScoredRun, explain: Explain = explain_nothing, count: int = IMAGES) -> Shown:
    """Images that are right clean and surely wrong under the mildest severities, as the model saw them.

    Mild first, then by the score of the wrong answer; an image once, a corruption at most twice. Where
    nothing was done to any image, those that are surely wrong as they are, a class at most twice.
    """
    seen = run.observed
    plain = all(condition.is_unmodified for condition in run.conditions)
    if not plain and "clean" not in seen.conditions:
        return Shown([], "There are no clean images to be right on: none is shown.")
    chosen = _choose_plain(run, count) if plain else _choose(run, count)
    if not chosen:
        where = "wrong" if plain else "right under clean and wrong under a corruption"
        return Shown([], f"No image is {where}.")
    originals = open_originals(run)
    if originals is None:
        return Shown([], no_originals(run))
    made: list[tuple[int, int, Image | None, Image]] = []
    for row, column in chosen:
        names = [*([] if plain else ["clean"]), seen.conditions[column]]
        frames = originals.under(str(seen.ids[row]), *names)
        if frames:
            made.append((row, column, None if plain else frames[0][0], frames[-1][0]))
    maps = explain([(image, int(seen.chosen[row, column])) for row, column, _, image in made], THUMBNAIL_PX)
    found = [_failure(run, *one, hanging) for one, hanging in zip(made, maps.maps, strict=True)]
    return Shown(found, " ".join(filter(None, (originals.note, maps.note))))


def _choose_plain(run: ScoredRun, count: int) -> list[tuple[int, int]]:
    """The same of a run in which nothing was done to images: the surest wrong answers."""
    seen, name = run.observed, plain_condition(run)
    if not name:
        return []
    column, rows = seen.column(name), rows_in_question(run)
    # A prediction that is not finite is no class that could be shown or explained.
    wrong = rows[(seen.rank[rows, column] > 0) & ~seen.not_finite[rows, column]]
    sure = seen.confidence[wrong, column] if seen.gives_probabilities else np.zeros(len(wrong))
    labels: Counter[tuple[int, ...]] = Counter()
    found: list[tuple[int, int]] = []
    for row in wrong[np.argsort(-sure, kind="stable")]:
        if labels[seen.labels[row]] < PER_UNIT and len(found) < count:
            labels[seen.labels[row]] += 1
            found.append((int(row), column))
    return found


def _choose(run: ScoredRun, count: int) -> list[tuple[int, int]]:
    """Rows and columns of the observations to show."""
    seen = run.observed
    if not len(seen.ids):
        return []
    # Of best classes alone nobody knows how sure the model was: any order will do.
    sure = seen.confidence if seen.gives_probabilities else np.zeros(seen.rank.shape)
    right = seen.rank[:, seen.column("clean")] == 0
    taken: set[int] = set()
    units: Counter[str] = Counter()
    found: list[tuple[int, int]] = []
    corrupted = [(int(c.level), n) for n, c in enumerate(run.conditions) if c.is_corruption]
    for level in sorted({level for level, _ in corrupted}):
        columns = [column for each, column in corrupted if each == level]
        wrong = right[:, None] & (seen.rank[:, columns] > 0) & ~seen.not_finite[:, columns]
        scores = np.where(wrong, sure[:, columns], -np.inf)
        for place in np.argsort(-scores, axis=None, kind="stable")[: count * len(columns)]:
            row, offset = divmod(int(place), len(columns))
            unit = str(run.conditions[columns[offset]].unit)
            if not wrong[row, offset] or row in taken or units[unit] >= PER_UNIT:
                continue
            taken.add(row)
            units[unit] += 1
            found.append((row, columns[offset]))
            if len(found) == count:
                return found
    return found


def _failure(
    run: ScoredRun, row: int, column: int, clean: Image | None, spoilt: Image, hanging: Hanging | None
) -> Failure:
    seen = run.observed
    names = class_names(run)
    at = column if clean is None else seen.column("clean")
    sure = seen.confidence[row] if seen.gives_probabilities else None
    return Failure(
        image=str(seen.ids[row]),
        condition=seen.conditions[column],
        label=label_names(run, seen.labels[row]),
        said_clean="" if clean is None else names.get(int(seen.chosen[row, at]), str(seen.chosen[row, at])),
        said=names.get(int(seen.chosen[row, column]), str(seen.chosen[row, column])),
        score_clean=None if clean is None or sure is None else float(sure[at]),
        score=None if sure is None else float(sure[column]),
        clean_image="" if clean is None else thumbnail(clean, THUMBNAIL_PX),
        spoilt_image=thumbnail(spoilt, THUMBNAIL_PX),
        hanging=hanging,
    )


misclassified_images = MisclassifiedImages()
