"""Stability: how often and how far predictions change between similar frames, as in ImageNet-P.

A noise sequence compares every frame with the first, which is clean; a temporal one every frame with the one
`stride` before it. With tau the ranking of classes and sigma(i) the rank in the later frame of the class
ranked i in the earlier one:

flip probability   FP   = mean over images and pairs of [predicted class differs]
top-5 distance     d    = sum over i = 1..5 of |i - min(sigma(i), 6)|
                   uT5D = mean over images and pairs of d
discounted         d_w  = sum over i = 1..K of w_i * |w_i - w_sigma(i)|
                   w_i  = 1/i (Zipf), or 1/log2(i + 1)

The distance is not symmetric: if the last class moves to first place and the others fall by one it is 5, in
the other direction 9. Its maximum is 18: the two last classes move to the front and the others leave the top
five. With fewer than eight classes the maximum is smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.core.wording import counted
from windtunnel.sequences import Comparison, least_frames

Classes = NDArray[np.int32]
Places = NDArray[np.int64]
TOP = 5


def frame_pairs(frames: int, comparison: Comparison, stride: int = 1) -> tuple[Places, Places]:
    """The compared frames: the earlier and the later one of every pair.

    A noise sequence compares every frame with the first, a temporal one with the frame `stride` before.
    """
    least = least_frames(comparison, stride)
    if frames < least:
        raise UserError(
            f"A clip of {counted(frames, 'frame')} is too short to compare frames; it needs {least}."
        )
    if comparison == "noise":
        later = np.arange(1, frames)
        return np.zeros_like(later), later
    later = np.arange(stride, frames)
    return later - stride, later


def flips(best: Classes, pairs: tuple[Places, Places]) -> NDArray[np.bool_]:
    """Whether the predicted class changes, images x pairs, given predicted classes (images, frames)."""
    earlier, later = pairs
    return np.asarray(best[:, earlier] != best[:, later])


def top5_distance(earlier: Classes, later: Classes) -> NDArray[np.int64]:
    """sum over i = 1..5 of |i - min(sigma(i), 6)| of top fives (..., 5), best first; -1 is no class."""
    same = earlier[..., :, None] == later[..., None, :]
    rank = np.where(same.any(axis=-1), same.argmax(axis=-1), TOP)
    steps = np.abs(np.arange(TOP) - rank)
    return np.asarray(np.where(earlier >= 0, steps, 0).sum(axis=-1), np.int64)


@lru_cache
def farthest_top5(classes: int) -> int:
    """The maximum top-5 distance for a number of classes: with few classes, not all five can leave."""
    best = range(1, min(TOP, classes) + 1)
    later = [*best, *[TOP + 1] * min(max(classes - TOP, 0), TOP)]
    orders = permutations(later, len(best))
    return max(
        int(sum(abs(rank - after) for rank, after in zip(best, order, strict=True))) for order in orders
    )


def zipf_weight(rank: NDArray[np.float64]) -> NDArray[np.float64]:
    """1/i."""
    return 1 / rank


def log_weight(rank: NDArray[np.float64]) -> NDArray[np.float64]:
    """1/log2(i + 1), the discount of DCG."""
    return 1 / np.log2(rank + 1)


Weight = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def discounted_distance(
    earlier: NDArray[np.float32], later: NDArray[np.float32], weight: Weight
) -> NDArray[np.float64]:
    """sum over i = 1..K of w_i * |w_i - w_sigma(i)| of scores (..., K); equal scores by rising class."""
    weights = weight(np.arange(1, earlier.shape[-1] + 1, dtype=np.float64))
    before, after = weights[ranks(earlier)], weights[ranks(later)]
    return np.asarray((before * np.abs(before - after)).sum(axis=-1), np.float64)


def farthest_discounted(classes: int, weight: Weight) -> float:
    """An upper bound of that distance: sum over i of w_i * max(w_1 - w_i, w_i - w_K)."""
    weights = weight(np.arange(1, classes + 1, dtype=np.float64))
    return float((weights * np.maximum(weights[0] - weights, weights - weights[-1])).sum())


def ranks(scores: NDArray[np.float32]) -> Places:
    """The rank of every class, 0 for the best; ties by ascending class index."""
    order = np.argsort(-scores, axis=-1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.broadcast_to(np.arange(scores.shape[-1]), order.shape), axis=-1)
    return places
