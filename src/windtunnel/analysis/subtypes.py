"""Subtype robustness: accuracy of broad types on seen and on unseen subtypes (Hendrycks & Dietterich 2019).

An image is correct if its broad type is predicted. Intervals are clustered by subtype.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import RunFailed
from windtunnel.stats.intervals import CONFIDENCE, clustered_share

SEEN, UNSEEN = "seen", "unseen"
CSV_COLUMNS = ("model", "kind", "type", "subtype", "part", "images", "accuracy")
# Intervals that are clustered by fewer subtypes are very wide.
FEW_SUBTYPES = 10


@dataclass(frozen=True)
class TestImages:
    """The test images of a study, one value each.

    Attributes:
        types, subtypes: their type and subtype.
        unseen: whether the subtype is unseen; the other images are held-out ones of seen subtypes.
    """

    types: tuple[str, ...]
    subtypes: tuple[str, ...]
    unseen: NDArray[np.bool_]


@dataclass(frozen=True)
class Accuracy:
    """An accuracy with its interval, and the number of images and subtypes it is measured on."""

    value: float
    low: float
    high: float
    images: int
    subtypes: int


@dataclass(frozen=True)
class Drop:
    """Accuracy on seen minus accuracy on unseen subtypes, with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class TypeAccuracies:
    """The accuracy of one type on seen and on unseen subtypes."""

    type: str
    seen: Accuracy
    unseen: Accuracy


@dataclass(frozen=True)
class SubtypeAccuracy:
    """The accuracy on the test images of one subtype."""

    subtype: str
    type: str
    part: str
    images: int
    accuracy: float


@dataclass(frozen=True)
class ModelAccuracies:
    """The accuracies of one model, averaged over its seeds.

    Attributes:
        kind: `network`, first trained on the seen subtypes here, or `module`, pretrained elsewhere.
        drop: accuracy on seen minus accuracy on unseen subtypes.
    """

    model: str
    kind: str
    seeds: int
    seen: Accuracy
    unseen: Accuracy
    drop: Drop
    types: tuple[TypeAccuracies, ...]
    subtypes: tuple[SubtypeAccuracy, ...]


@dataclass(frozen=True)
class SubtypeRobustness:
    """The result of a study.

    Attributes:
        chance: the accuracy of a random guess, 1 / number of types.
        frequent_type: the type with most training images.
        frequent_seen, frequent_unseen: the accuracy of always predicting it.
    """

    models: tuple[ModelAccuracies, ...]
    types: tuple[str, ...]
    chance: float
    frequent_type: str
    frequent_seen: float
    frequent_unseen: float
    notes: tuple[str, ...] = ()
    confidence: float = CONFIDENCE

    def to_json_text(self) -> str:
        """The result as a JSON document; accuracies are fractions."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"

    def to_csv(self) -> str:
        """A line for each model and subtype; accuracies are fractions."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        for model in self.models:
            for row in model.subtypes:
                writer.writerow(
                    [model.model, model.kind, row.type, row.subtype, row.part, row.images, row.accuracy]
                )
        return out.getvalue()


def subtype_robustness(
    images: TestImages,
    correct: Mapping[tuple[str, str], NDArray[np.bool_]],
    frequent_type: str,
    notes: Sequence[str] = (),
) -> SubtypeRobustness:
    """The accuracies of every model on seen and unseen subtypes.

    Args:
        images: the test images.
        correct: by name and kind of a model, whether it predicts each image's type, (seeds, images).
        frequent_type: the type with most training images.
        notes: notes for the reader.
    """
    types = tuple(sorted(set(images.types)))
    models = tuple(_model(name, kind, images, rows) for (name, kind), rows in correct.items())
    frequent = np.array(images.types) == frequent_type
    few = min(_subtype_count(images, part) for part in (images.unseen, ~images.unseen))
    if few < FEW_SUBTYPES:
        notes = [
            *notes,
            f"Only {few} seen or unseen subtypes: intervals are clustered by subtype, wide for fewer than "
            f"{FEW_SUBTYPES}.",
        ]
    return SubtypeRobustness(
        models,
        types,
        1 / len(types),
        frequent_type,
        float(frequent[~images.unseen].mean()),
        float(frequent[images.unseen].mean()),
        tuple(notes),
    )


def _model(name: str, kind: str, images: TestImages, correct: NDArray[np.bool_]) -> ModelAccuracies:
    types, subtypes = np.array(images.types), np.array(images.subtypes)
    seen, unseen = (_accuracy(correct, subtypes, part) for part in (~images.unseen, images.unseen))
    by_type = tuple(
        TypeAccuracies(
            type_,
            _accuracy(correct, subtypes, (types == type_) & ~images.unseen),
            _accuracy(correct, subtypes, (types == type_) & images.unseen),
        )
        for type_ in sorted(set(images.types))
    )
    by_subtype = []
    for subtype in sorted(set(images.subtypes)):
        rows = np.flatnonzero(subtypes == subtype)
        part = UNSEEN if images.unseen[rows[0]] else SEEN
        accuracy = float(correct[:, rows].mean())
        by_subtype.append(SubtypeAccuracy(subtype, str(types[rows[0]]), part, len(rows), accuracy))
    by_subtype.sort(key=lambda row: (row.type, row.part, row.subtype))
    drop = _drop(seen, unseen)
    return ModelAccuracies(name, kind, len(correct), seen, unseen, drop, by_type, tuple(by_subtype))


def _accuracy(correct: NDArray[np.bool_], subtypes: NDArray[np.str_], rows: NDArray[np.bool_]) -> Accuracy:
    """Accuracy over some images, all seeds together, with an interval that is clustered by subtype."""
    if not rows.any():
        raise RunFailed("a type has no test images of one part")
    values = correct[:, rows].mean(axis=0, dtype=np.float64)
    names, groups = np.unique(subtypes[rows], return_inverse=True)
    low, high = clustered_share(values, len(correct), groups=groups.astype(np.int64))
    return Accuracy(float(values.mean()), low, high, len(values), len(names))


def _drop(seen: Accuracy, unseen: Accuracy) -> Drop:
    """Newcombe's interval (square-and-add) of a difference of accuracies on different subtypes."""
    value = seen.value - unseen.value
    below = math.hypot(seen.value - seen.low, unseen.high - unseen.value)
    above = math.hypot(seen.high - seen.value, unseen.value - unseen.low)
    return Drop(value, value - below, value + above)


def _subtype_count(images: TestImages, rows: NDArray[np.bool_]) -> int:
    return len({images.subtypes[row] for row in np.flatnonzero(rows)})
