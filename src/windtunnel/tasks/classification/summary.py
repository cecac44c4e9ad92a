"""What is kept of a model's scores: top five, the label's place, and a few sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.models import Outputs, Scores

TOP = 5
NO_LABEL = -2
# The logarithm of what a probability of 0 counts as: the least that float32 holds in full.
NO_PROBABILITY = float(np.log(np.finfo(np.float32).tiny))


@dataclass(frozen=True)
class Summary:
    """Per row: the top five classes and scores, the label's score and rank, and sums over all classes.

    Attributes:
        top: class indices by falling score, equal scores by rising index; -1 where there are fewer.
        top_score: their scores, NaN where there is no class; probabilities sum to one over the classes
            that count.
        label_score: score of the best-placed label, likewise; NaN without label.
        label_rank: how many classes stand before it (0 is right); all of them where no class that counts is a
            label, -1 without label.
        logsumexp: ln sum exp(logit); NaN for models that give probabilities.
        entropy: -sum p ln p, in nats.
        sum_p2: sum p^2.
    """

    top: NDArray[np.int32]
    top_score: NDArray[np.float32]
    label_score: NDArray[np.float32]
    label_rank: NDArray[np.int32]
    logsumexp: NDArray[np.float32]
    entropy: NDArray[np.float32]
    sum_p2: NDArray[np.float32]


def summarise(
    scores: Scores, labels: Sequence[Sequence[int]], outputs: Outputs, mask: NDArray[np.bool_]
) -> Summary:
    """Summarise scores (n, k); classes outside the mask have neither rank nor probability.

    With several labels the best-placed one counts.
    """
    count = len(scores)
    kept = np.flatnonzero(mask)
    inside = scores[:, kept]
    order = _best(inside)
    top = np.full((count, TOP), -1, np.int32)
    top_score = np.full((count, TOP), np.nan, np.float32)
    top[:, : order.shape[1]] = kept[order]
    top_score[:, : order.shape[1]] = np.take_along_axis(inside, order, axis=1)
    label_score = np.full(count, np.nan, np.float32)
    label_rank = np.full(count, -1, np.int32)
    for row, row_labels in enumerate(labels):
        places = [
            (_rank(scores[row], label, mask), label) for label in row_labels if label >= 0 and mask[label]
        ]
        if places:
            rank, label = min(places)
            label_rank[row], label_score[row] = rank, scores[row, label]
        elif row_labels:
            # No output stands for the image's class: whatever the model says is wrong.
            label_rank[row] = len(kept)
    values = inside.astype(np.float64)
    if outputs == "logits":
        peak = values.max(axis=1, keepdims=True)
        weights = np.exp(values - peak)
        total = weights.sum(axis=1, keepdims=True)
        share = weights / total
        log_share = values - peak - np.log(total)
        logsumexp = (peak + np.log(total))[:, 0]
        absent = (label_rank >= 0) & np.isnan(label_score)
        label_score[absent] = logsumexp[absent] + NO_PROBABILITY
    else:
        total = values.sum(axis=1, keepdims=True)
        # Where every class that counts has no probability at all, none is likelier than another.
        empty = total[:, 0] <= 0
        values[empty], total[empty] = 1.0, values.shape[1]
        share = values / total
        log_share = np.log(np.where(share > 0, share, 1.0))
        top_score[:, : order.shape[1]] = np.take_along_axis(share, order, axis=1)
        label_score = np.where(empty, 1.0, label_score) / total[:, 0]
        label_score = np.where(label_rank >= 0, label_score, np.nan).astype(np.float32)
        label_score[label_rank == len(kept)] = 0.0
        logsumexp = np.full(count, np.nan)
    return Summary(
        top,
        top_score,
        label_score,
        label_rank,
        logsumexp.astype(np.float32),
        -(share * log_share).sum(axis=1).astype(np.float32),
        (share**2).sum(axis=1).astype(np.float32),
    )


def summarise_best(
    top: NDArray[np.int32], scores: NDArray[Any] | None, labels: Sequence[Sequence[int]]
) -> Summary:
    """Summarise the best classes alone: the label's rank among them, or their number."""
    count, width = top.shape
    most = max((len(row) for row in labels), default=0) or 1
    wanted = np.full((count, most), NO_LABEL, np.int32)
    for row, classes in enumerate(labels):
        wanted[row, : len(classes)] = classes
    hit = (top[:, :, None] == wanted[:, None, :]).any(axis=2)
    rank = np.where(hit.any(axis=1), hit.argmax(axis=1), width).astype(np.int32)
    rank[wanted[:, 0] == NO_LABEL] = -1
    kept = min(width, TOP)
    best = np.full((count, TOP), -1, np.int32)
    best_score = np.full((count, TOP), np.nan, np.float32)
    label_score = np.full(count, np.nan, np.float32)
    best[:, :kept] = top[:, :kept]
    if scores is not None:
        best_score[:, :kept] = scores[:, :kept]
        found = np.take_along_axis(scores, np.clip(rank, 0, width - 1)[:, None].astype(np.int64), axis=1)[
            :, 0
        ]
        label_score = np.where(hit.any(axis=1), found, np.nan).astype(np.float32)
    nothing = np.full(count, np.nan, np.float32)
    return Summary(best, best_score, label_score, rank, nothing, nothing, nothing)


def _best(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """The places of the best scores of each row, falling, equal ones by rising place.

    The best of the rest five times over: argmax takes the first of equals, and sorting all takes longer.
    """
    rest, rows = scores.copy(), np.arange(len(scores))
    order = np.empty((len(scores), min(TOP, scores.shape[1])), np.int64)
    for place in range(order.shape[1]):
        order[:, place] = rest.argmax(axis=1)
        rest[rows, order[:, place]] = -np.inf
    return order


def _rank(scores: NDArray[np.float32], label: int, mask: NDArray[np.bool_]) -> int:
    own = scores[label]
    before = (scores > own) & mask
    equal = (scores[:label] == own) & mask[:label]
    return int(before.sum() + equal.sum())
