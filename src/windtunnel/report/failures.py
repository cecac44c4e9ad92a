"""Pictures a model gets wrong, made again from the recipe: clean beside corrupted, and what it said."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from windtunnel.imaging import Image
from windtunnel.report.originals import class_names, no_originals, open_originals, output_of, thumbnail
from windtunnel.store.run import Run

PICTURES = 12
PER_UNIT = 2
THUMBNAIL_PX = 160


@dataclass(frozen=True)
class Failure:
    """A picture that is right clean and wrong under a condition."""

    picture: str
    condition: str
    label: str
    said_clean: str
    said: str
    score_clean: float | None
    score: float | None
    clean_picture: str
    spoilt_picture: str


@dataclass(frozen=True)
class Shown:
    """Failures to look at, and why there are not more."""

    failures: list[Failure]
    note: str


def worst_failures(run: Run, count: int = PICTURES) -> Shown:
    """Pictures that are right clean and surely wrong under the mildest severities, as the model saw them.

    Mild first, then by the score of the wrong answer; a picture once, a corruption at most twice.
    """
    seen = run.observed
    if "clean" not in seen.conditions:
        return Shown([], "There are no clean pictures to be right on: none is shown.")
    chosen = _choose(run, count)
    if not chosen:
        return Shown([], "No picture is right under clean and wrong under a corruption.")
    originals = open_originals(run)
    if originals is None:
        return Shown([], no_originals(run))
    found = []
    for row, column in chosen:
        made = originals.under(str(run.observed.ids[row]), "clean", run.observed.conditions[column])
        if made:
            found.append(_failure(run, row, column, *(frames[0] for frames in made)))
    return Shown(found, originals.note)


def _choose(run: Run, count: int) -> list[tuple[int, int]]:
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
    spoilt = [(int(c["level"]), n) for n, c in enumerate(run.conditions) if c["kind"] == "corruption"]
    for level in sorted({level for level, _ in spoilt}):
        columns = [column for each, column in spoilt if each == level]
        wrong = right[:, None] & (seen.rank[:, columns] > 0)
        scores = np.where(wrong, sure[:, columns], -np.inf)
        for place in np.argsort(-scores, axis=None, kind="stable")[: count * len(columns)]:
            row, offset = divmod(int(place), len(columns))
            unit = str(run.conditions[columns[offset]]["unit"])
            if not wrong[row, offset] or row in taken or units[unit] >= PER_UNIT:
                continue
            taken.add(row)
            units[unit] += 1
            found.append((row, columns[offset]))
            if len(found) == count:
                return found
    return found


def _failure(run: Run, row: int, column: int, clean: Image, spoilt: Image) -> Failure:
    seen = run.observed
    names = class_names(run)
    at = seen.column("clean")
    labels = [names.get(output_of(run, label), str(label)) for label in seen.labels[row]]
    return Failure(
        str(seen.ids[row]),
        seen.conditions[column],
        ", ".join(labels),
        names.get(int(seen.chosen[row, at]), str(seen.chosen[row, at])),
        names.get(int(seen.chosen[row, column]), str(seen.chosen[row, column])),
        float(seen.confidence[row, at]) if seen.gives_probabilities else None,
        float(seen.confidence[row, column]) if seen.gives_probabilities else None,
        thumbnail(clean, THUMBNAIL_PX),
        thumbnail(spoilt, THUMBNAIL_PX),
    )
