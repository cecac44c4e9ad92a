"""Pictures a model gets wrong, made again from the recipe: clean beside corrupted, and what it said."""

from __future__ import annotations

import base64
import io
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image as PillowImage

from windtunnel.conditions import Condition
from windtunnel.data import Dataset, Sample, content_hash, open_dataset
from windtunnel.data.survey import Surveyed
from windtunnel.engine.pictures import Source
from windtunnel.engine.plan import parse_settings
from windtunnel.errors import PictureError, RunFailed, UserError
from windtunnel.imaging import Image
from windtunnel.imaging.geometry import Geometry
from windtunnel.imaging.header import UPRIGHT
from windtunnel.labels import IMAGENET_1K, imagenet_names
from windtunnel.store.run import Run

PICTURES = 12
PER_UNIT = 2
THUMBNAIL_PX = 160
THUMBNAIL_QUALITY = 80


@dataclass(frozen=True)
class Failure:
    """A picture that is right clean and wrong under a condition."""

    picture: str
    condition: str
    label: str
    said_clean: str
    said: str
    score_clean: float
    score: float
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
    chosen = _choose(run, count)
    if not chosen:
        return Shown([], "No picture is right under clean and wrong under a corruption.")
    try:
        dataset = open_dataset(run.info["data"]["location"])
    except UserError:
        return Shown([], f"The pictures are no longer at {run.info['data']['location']}: none can be shown.")
    samples = {sample.id: sample for sample in dataset.samples()}
    hashes = dict(zip(run.samples["id"].to_pylist(), run.samples["content"].to_pylist(), strict=True))
    found, gone = [], 0
    for row, column in chosen:
        id_ = str(run.observed.ids[row])
        sample = samples.get(id_)
        pair = _remade(run, dataset, sample, hashes[id_], column) if sample else None
        if pair is None:
            gone += 1
            continue
        found.append(_failure(run, row, column, *pair))
    note = f"{gone} pictures have changed or gone since the run and are not shown." if gone else ""
    return Shown(found, note)


def _choose(run: Run, count: int) -> list[tuple[int, int]]:
    """Rows and columns of the observations to show."""
    seen = run.observed
    if "clean" not in seen.conditions or not len(seen.ids):
        return []
    right = seen.rank[:, seen.column("clean")] == 0
    taken: set[int] = set()
    units: Counter[str] = Counter()
    found: list[tuple[int, int]] = []
    spoilt = [(int(c["level"]), n) for n, c in enumerate(run.conditions) if c["kind"] == "corruption"]
    for level in sorted({level for level, _ in spoilt}):
        columns = [column for each, column in spoilt if each == level]
        wrong = right[:, None] & (seen.rank[:, columns] > 0)
        scores = np.where(wrong, seen.best_score[:, columns], -np.inf)
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


def _remade(
    run: Run, dataset: Dataset, sample: Sample, expected: str, column: int
) -> tuple[Image, Image] | None:
    """The clean and the corrupted picture, or None where the picture is not what it was."""
    try:
        if content_hash(dataset.read(sample)) != expected:
            return None
        source = Source(dataset, Surveyed(sample, expected, orientation=UPRIGHT))
        geometry = Geometry(**run.recipe["canvas"]["geometry"])
        seed = int(run.recipe["seed"])
        clean, spoilt = (
            source.under(condition, geometry, seed)
            for condition in (_condition(run, run.observed.column("clean")), _condition(run, column))
        )
        return clean, spoilt
    except (PictureError, RunFailed, UserError):
        return None


def _condition(run: Run, column: int) -> Condition:
    fields = Condition.__dataclass_fields__
    stored = {key: value for key, value in run.conditions[column].items() if key in fields}
    settings = parse_settings(run.info["settings"]).get(str(stored["unit"]), {})
    return Condition(**{**stored, "settings": settings})


def _failure(run: Run, row: int, column: int, clean: Image, spoilt: Image) -> Failure:
    seen = run.observed
    names = class_names(run)
    at = seen.column("clean")
    labels = [names.get(_output(run, label), str(label)) for label in seen.labels[row]]
    return Failure(
        str(seen.ids[row]),
        seen.conditions[column],
        ", ".join(labels),
        names.get(int(seen.chosen[row, at]), str(seen.chosen[row, at])),
        names.get(int(seen.chosen[row, column]), str(seen.chosen[row, column])),
        float(seen.confidence[row, at]),
        float(seen.confidence[row, column]),
        thumbnail(clean),
        thumbnail(spoilt),
    )


def class_names(run: Run) -> dict[int, str]:
    """What people call the model's outputs, as far as the data's classes tell."""
    classes = run.info["data"]["classes"]
    words = imagenet_names() if run.recipe["data"]["label_space"] == IMAGENET_1K else {}
    return {
        _output(run, label): words.get(name, name)
        for label, name in enumerate(classes)
        if _output(run, label) >= 0
    }


def _output(run: Run, label: int) -> int:
    mapped: list[Any] = run.recipe["projection"]["labels"]
    return int(mapped[label])


def thumbnail(image: Image) -> str:
    """A small JPEG as a data address; pictures smaller than that are enlarged by whole pixels."""
    picture = PillowImage.fromarray(image)
    grow = THUMBNAIL_PX // max(picture.size)
    if grow > 1:
        picture = picture.resize(
            (picture.width * grow, picture.height * grow), PillowImage.Resampling.NEAREST
        )
    picture.thumbnail((THUMBNAIL_PX, THUMBNAIL_PX))
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=THUMBNAIL_QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(out.getvalue()).decode()
