"""Summaries of a model's scores: the top five classes, the label's rank, and a few sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from windtunnel.models import Outputs, Scores

TOP = 5
NO_LABEL = -2
# A probability of 0 counts as the smallest normal float32; this is its logarithm.
NO_PROBABILITY = float(np.log(np.finfo(np.float32).tiny))


@dataclass(frozen=True)
class Summary:
    """Per row: the top five classes and scores, the label's score and rank, and sums over all classes.

    Attributes:
        top: class indices by descending score, ties by ascending index; -1 if there are fewer classes.
        top_score: their scores, NaN if there is no class; probabilities sum to one over the competing
            classes.
        label_score: score of the highest-ranked label, likewise; NaN without label.
        label_rank: number of classes ranked before that label (0 is correct); the number of competing
            classes if no label competes, -1 without label.
        logsumexp: ln sum exp(logit); NaN for models that output probabilities.
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

    Of several labels the highest-ranked one counts.
    """
    count = len(scores)
    competing = np.flatnonzero(mask)
    # take() keeps rows contiguous; an index would not, and every sum below would take longer.
    competing_scores = scores if mask.all() else scores.take(competing, axis=1)
    order = _best(competing_scores)
    top = np.full((count, TOP), -1, np.int32)
    top_score = np.full((count, TOP), np.nan, np.float32)
    top[:, : order.shape[1]] = competing[order]
    top_score[:, : order.shape[1]] = np.take_along_axis(competing_scores, order, axis=1)
    label_rank, label_score = _labels_placed(scores, labels, mask)
    if outputs == "logits":
        # Shifted by the largest score, so that no exponential overflows.
        peak = top_score[:, :1].astype(np.float64)
        shifted = competing_scores - peak
        weights = np.exp(shifted)
        total = weights.sum(axis=1)
        entropy = np.log(total) - np.einsum("ij,ij->i", weights, shifted) / total
        logsumexp = peak[:, 0] + np.log(total)
        absent = (label_rank >= 0) & np.isnan(label_score)
        label_score[absent] = logsumexp[absent] + NO_PROBABILITY
    else:
        weights = competing_scores.astype(np.float64)
        total = weights.sum(axis=1)
        # If all competing classes have probability 0, they share the probability equally.
        empty = total <= 0
        weights[empty], total[empty] = 1.0, weights.shape[1]
        top_score[:, : order.shape[1]] = np.take_along_axis(weights, order, axis=1) / total[:, None]
        entropy = np.log(total) - xlogy(weights, weights).sum(axis=1) / total
        label_score = np.where(empty, 1.0, label_score) / total
        label_score = np.where(label_rank >= 0, label_score, np.nan).astype(np.float32)
        label_score[label_rank == len(competing)] = 0.0
        logsumexp = np.full(count, np.nan)
    return Summary(
        top,
        top_score,
        label_score,
        label_rank,
        logsumexp.astype(np.float32),
        entropy.astype(np.float32),
        (np.einsum("ij,ij->i", weights, weights) / total**2).astype(np.float32),
    )


def summarise_best(
    top: NDArray[np.int32], scores: NDArray[Any] | None, labels: Sequence[Sequence[int]]
) -> Summary:
    """Summarise top-k classes: the label's rank among them, or k if it is not among them."""
    count, width = top.shape
    most = max((len(row) for row in labels), default=0) or 1
    wanted = np.full((count, most), NO_LABEL, np.int32)
    for row, classes in enumerate(labels):
        wanted[row, : len(classes)] = classes
    hit = (top[:, :, None] == wanted[:, None, :]).any(axis=2)
    rank = np.where(hit.any(axis=1), hit.argmax(axis=1), width).astype(np.int32)
    rank[wanted[:, 0] == NO_LABEL] = -1
    columns = min(width, TOP)
    best = np.full((count, TOP), -1, np.int32)
    best_score = np.full((count, TOP), np.nan, np.float32)
    label_score = np.full(count, np.nan, np.float32)
    best[:, :columns] = top[:, :columns]
    if scores is not None:
        best_score[:, :columns] = scores[:, :columns]
        score_at_rank = np.take_along_axis(
            scores, np.clip(rank, 0, width - 1)[:, None].astype(np.int64), axis=1
        )[:, 0]
        label_score = np.where(hit.any(axis=1), score_at_rank, np.nan).astype(np.float32)
    nothing = np.full(count, np.nan, np.float32)
    return Summary(best, best_score, label_score, rank, nothing, nothing, nothing)


def _best(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """The indices of the best scores of each row in descending order, ties by ascending index.

    Repeats argmax, which takes the first of equal scores; sorting all scores takes longer.
    """
    rest, rows = scores.copy(), np.arange(len(scores))
    order = np.empty((len(scores), min(TOP, scores.shape[1])), np.int64)
    for place in range(order.shape[1]):
        order[:, place] = rest.argmax(axis=1)
        rest[rows, order[:, place]] = -np.inf
    return order


def _labels_placed(
    scores: NDArray[np.float32], labels: Sequence[Sequence[int]], mask: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The rank and the score of the highest-ranked label of each row, as a `Summary` has them."""
    label_rank = np.full(len(scores), -1, np.int32)
    label_score = np.full(len(scores), np.nan, np.float32)
    # If no competing output is the image's class, every prediction is wrong.
    label_rank[[bool(row_labels) for row_labels in labels]] = mask.sum()
    places = [(row, label) for row, row_labels in enumerate(labels) for label in row_labels if label >= 0]
    rows, classes = np.array(places, np.intp).reshape(-1, 2).T
    rows, classes = rows[mask[classes]], classes[mask[classes]]
    if not rows.size:
        return label_rank, label_score
    # Most images have one label, and then no row is copied.
    theirs = scores if np.array_equal(rows, np.arange(len(scores))) else scores[rows]
    own = scores[rows, classes][:, None]
    ahead, tied = theirs > own, theirs == own
    if np.count_nonzero(tied) > rows.size:  # not only the labels themselves
        ahead |= tied & (np.arange(scores.shape[1]) < classes[:, None])
    ranks = np.count_nonzero(ahead & mask, axis=1).astype(np.int32)
    np.minimum.at(label_rank, rows, ranks)
    best = ranks == label_rank[rows]
    label_score[rows[best]] = own[best, 0]
    return label_rank, label_score
