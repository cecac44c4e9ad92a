"""Adversarial filtration of predictions: the stage at which each candidate falls.

The steps of ImageNet-A, on arrays of predictions (candidates x models x crops):

1. `correct`: any crop of any model is classified correctly. If several classes have the highest confidence,
   each of them counts as predicted.
2. `confident`: any crop of any model gives the true class more than 15 % confidence.
3. `over_cap`: its confusion (true class, predicted class) has 15 candidates that rank before it.
4. `shortlisted`: all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.candidates import SHORTLISTED
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.option_names import option

CORRECT, CONFIDENT, OVER_CAP, SHORTLIST = range(4)
STAGES = ("correct", "confident", "over_cap", SHORTLISTED)

# The crop of the first model, or the crop of any model that is most confident in its prediction.
PairFrom = Literal["centre", "most-confident"]
# Lowest confidence in the true class first, or highest confidence in the predicted class first.
KeepFirst = Literal["least-true", "most-wrong"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class FilterRules:
    """The thresholds of a filtration, by default the paper's.

    Attributes:
        max_true_confidence: the highest confidence in the true class that a candidate may reach in any crop.
        pair_cap: the largest number of candidates of one confusion; 0 for any number.
        pair_from: the crop whose prediction is the predicted class of a confusion: `centre` is the centre
            crop of the first model, `most-confident` the crop of any model with the highest confidence in
            its predicted class (the first of equal ones).
        keep_first: the candidates of a confusion that are kept: `least-true` ranks by the highest confidence
            in the true class over all crops, lowest first; `most-wrong` by the confidence of the crop that
            gives the predicted class, highest first. Equal ones are ranked by id.
        centre_crop: the number of the centre crop.
    """

    max_true_confidence: float = 0.15
    pair_cap: int = 15
    pair_from: PairFrom = "centre"
    keep_first: KeepFirst = "least-true"
    centre_crop: int = 4

    def __post_init__(self) -> None:
        if not 0 <= self.max_true_confidence <= 1:
            raise UserError(
                f"{option('max_true_confidence')} is {self.max_true_confidence:g}; give a share from 0 to 1."
            )
        if self.pair_cap < 0:
            raise UserError(f"{option('pair_cap')} is {self.pair_cap}; give at least 1, or 0 for no cap.")
        if self.pair_from not in get_args(PairFrom):
            raise unknown_name("way to define a confusion", self.pair_from, get_args(PairFrom))
        if self.keep_first not in get_args(KeepFirst):
            raise unknown_name("order of candidates", self.keep_first, get_args(KeepFirst))


@dataclass(frozen=True)
class CropPredictions:
    """Predictions of every crop of every candidate by every model, as arrays (candidates, models, crops).

    Attributes:
        predicted: the predicted class.
        confidence: the confidence in the predicted class.
        true_confidence: the confidence in the true class.
    """

    predicted: Integers
    confidence: Floats
    true_confidence: Floats

    def __post_init__(self) -> None:
        shapes = {array.shape for array in (self.predicted, self.confidence, self.true_confidence)}
        if len(shapes) != 1 or self.predicted.ndim != 3:
            raise ValueError(f"arrays of predictions have the shapes {sorted(shapes)}")


@dataclass(frozen=True)
class Filtration:
    """The result of a filtration, one value for each candidate.

    Attributes:
        stage: where the candidate falls, a place in `STAGES`.
        view: the number (model * crops + crop) of the first correct crop, of the crop with the highest
            confidence in the true class for `confident`, and of the crop that defines the confusion for
            the others.
        pair_class: the predicted class of its confusion.
        true_confidence: the highest confidence in the true class over all crops and models.
        rank: its place among the candidates of its confusion that reach the cap, from 1; 0 for others.
        pair_size: the number of candidates of its confusion that reach the cap; 0 for others.
    """

    stage: NDArray[np.int8]
    view: Integers
    pair_class: Integers
    true_confidence: Floats
    rank: Integers
    pair_size: Integers

    def funnel(self) -> dict[str, int]:
        """The number of candidates after each step."""
        fallen = np.bincount(self.stage, minlength=len(STAGES))
        left = len(self.stage) - np.cumsum(fallen)
        return {
            "candidates": len(self.stage),
            "never_correct": int(left[CORRECT]),
            "low_true_confidence": int(left[CONFIDENT]),
            "shortlist": int(left[OVER_CAP]),
        }


def filter_candidates(
    ids: Sequence[str],
    labels: Integers,
    predictions: CropPredictions,
    rules: FilterRules = FilterRules(),  # noqa: B008 (frozen)
) -> Filtration:
    """The stage at which each candidate falls; does not depend on the order of the candidates.

    Args:
        ids: unique ids, which rank equal candidates.
        labels: the true class of each candidate.
        predictions: the classes and confidences of all crops.
        rules: the thresholds.
    """
    count, models, crops = predictions.predicted.shape
    flat = (count, models * crops)
    predicted = predictions.predicted.reshape(flat)
    confidence = predictions.confidence.reshape(flat)
    true_confidence = predictions.true_confidence.reshape(flat)
    rows = np.arange(count)

    right = (predicted == labels[:, None]) | (true_confidence == confidence)
    any_right = right.any(axis=1)
    top_view = true_confidence.argmax(axis=1)
    top = true_confidence[rows, top_view]
    if rules.pair_from == "centre":
        pair_view = np.full(count, rules.centre_crop)
    else:
        pair_view = confidence.argmax(axis=1)
    pair_class = predicted[rows, pair_view]

    # The comparison is in the precision of the confidences: 0.15 itself is not above 0.15.
    confident = ~any_right & (top > np.asarray(rules.max_true_confidence, top.dtype))
    stage = np.full(count, SHORTLIST, np.int8)
    stage[any_right], stage[confident] = CORRECT, CONFIDENT
    view = np.where(any_right, right.argmax(axis=1), np.where(confident, top_view, pair_view))

    remaining = np.flatnonzero(stage == SHORTLIST)
    wrong = confidence[rows, pair_view]
    key = top[remaining] if rules.keep_first == "least-true" else -wrong[remaining]
    ranks, sizes = _pair_ranks(
        np.asarray(ids, dtype=object)[remaining], labels[remaining], pair_class[remaining], key
    )
    rank, pair_size = np.zeros(count, np.int64), np.zeros(count, np.int64)
    rank[remaining], pair_size[remaining] = ranks, sizes
    if rules.pair_cap:
        stage[remaining[ranks > rules.pair_cap]] = OVER_CAP
    return Filtration(stage, view, pair_class, top, rank, pair_size)


def _pair_ranks(
    ids: NDArray[np.object_], labels: Integers, pair_class: Integers, key: Floats
) -> tuple[Integers, Integers]:
    """The rank of each candidate in its confusion, by key and then by id, from 1; and the pair's size."""
    if not len(ids):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    by_id = np.empty(len(ids), np.int64)
    by_id[np.argsort(ids)] = np.arange(len(ids))
    order = np.lexsort((by_id, key, pair_class, labels))
    sorted_labels, sorted_classes = labels[order], pair_class[order]
    first = np.ones(len(order), bool)
    first[1:] = (sorted_labels[1:] != sorted_labels[:-1]) | (sorted_classes[1:] != sorted_classes[:-1])
    group = np.cumsum(first) - 1
    starts = np.flatnonzero(first)
    ranks, sizes = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - starts[group] + 1
    sizes[order] = np.bincount(group)[group]
    return ranks, sizes
