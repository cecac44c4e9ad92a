"""How many predictions would be right if labels were shuffled among the images.

Shuffling keeps how often each class is predicted and how often it is a label, and breaks every tie between
image and label. A model that sees nothing gets what shuffled labels give, also where classes are unbalanced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, lgamma

import numpy as np
from numpy.typing import NDArray

SHUFFLES = 199


@dataclass(frozen=True)
class Shuffled:
    """Right predictions against those under shuffled labels.

    Attributes:
        right: how many predictions are right.
        expected: how many are right under shuffled labels, on average.
        p_more: share of shuffles that are right at least as often, this one included.
        p_fewer: share of shuffles that are right at most as often, this one included.
        p_perfect: share of shuffles in which a perfect model would still be right on every image: the least
            that `p_more` can be.
    """

    right: int
    expected: float
    p_more: float
    p_fewer: float
    p_perfect: float


def shuffled_labels(predicted: NDArray[np.int32], accepted: Sequence[tuple[int, ...]]) -> Shuffled:
    """Compare predictions with shuffled labels.

    Args:
        predicted: the class predicted for each image.
        accepted: the classes that are right for each image.
    """
    classes, of_image = np.unique(predicted, return_inverse=True)
    kinds = {kind: place for place, kind in enumerate(dict.fromkeys(accepted))}
    labels = np.array([kinds[kind] for kind in accepted], np.int64)
    fits = np.zeros((len(classes), len(kinds)), bool)
    for kind, place in kinds.items():
        fits[:, place] = np.isin(classes, kind)
    count = len(labels)
    right = int(fits[of_image, labels].sum())
    times_predicted = np.bincount(of_image, minlength=len(classes))
    times_labelled = np.bincount(labels, minlength=len(kinds))
    expected = float(times_predicted @ fits @ times_labelled) / count
    rng = np.random.default_rng(0)
    others = np.array([fits[of_image, rng.permutation(labels)].sum() for _ in range(SHUFFLES)])
    orders = sum(lgamma(times + 1) for times in Counter(labels.tolist()).values())
    return Shuffled(
        right,
        expected,
        float((1 + (others >= right).sum()) / (1 + SHUFFLES)),
        float((1 + (others <= right).sum()) / (1 + SHUFFLES)),
        exp(orders - lgamma(count + 1)),
    )
