"""OOD scores: from a model's outputs for an image to one number, high for out-of-distribution images.

With z the logits of the competing classes, p their softmax, p1 and p2 its two largest values:

msp          = -max p                            the published code of ImageNet-O
max_logit    = -max z
energy       = -ln sum exp z
entropy      = -sum p ln p
margin       = -(p1 - p2)
gen          = sum over the M largest p of (p (1 - p))^gamma     gamma 0.1, M 100, or all classes if fewer
kl_matching  = min over classes c of KL(p || d_c), d_c the mean p of template images predicted as c

Max logit and energy need logits: they cannot be computed from a softmax.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

GEN_GAMMA = 0.1
GEN_LARGEST = 100
# A probability of 0 is replaced by the smallest normal float32.
LEAST = float(np.finfo(np.float32).tiny)

Numbers = NDArray[np.float64]
Truths = NDArray[np.bool_]


def log_shares(scores: NDArray[np.float32], *, logits: bool) -> Numbers:
    """Logarithms of the classes' probabilities (n, classes), which sum to one over the classes given."""
    values = scores.astype(np.float64)
    if logits:
        values -= values.max(axis=1, keepdims=True)
        values -= np.log(np.exp(values).sum(axis=1, keepdims=True))
        return values
    values = np.maximum(values, LEAST)
    return np.asarray(np.log(values / values.sum(axis=1, keepdims=True)), np.float64)


def msp(log_share: Numbers) -> Numbers:
    """Negative maximum softmax probability: -max p."""
    return np.asarray(-np.exp(log_share.max(axis=1)), np.float64)


def entropy(log_share: Numbers) -> Numbers:
    """Entropy in nats: -sum p ln p."""
    return np.asarray(-np.einsum("ij,ij->i", np.exp(log_share), log_share), np.float64)


def margin(log_share: Numbers) -> Numbers:
    """Negative difference of the two largest probabilities: -(p1 - p2); -p1 with a single class."""
    if log_share.shape[1] < 2:
        return msp(log_share)
    best = np.exp(np.partition(log_share, -2, axis=1)[:, -2:])
    return np.asarray(best[:, 0] - best[:, 1], np.float64)


def gen(log_share: Numbers, gamma: float = GEN_GAMMA, largest: int = GEN_LARGEST) -> Numbers:
    """Generalised entropy: sum over the largest p of (p (1 - p))^gamma."""
    count = min(largest, log_share.shape[1])
    best = np.partition(log_share, -count, axis=1)[:, -count:]
    # expm1 keeps 1 - p exact for p near 1, where this score is sensitive.
    spread = np.exp(best) * -np.expm1(np.minimum(best, 0.0))
    return np.asarray((spread**gamma).sum(axis=1), np.float64)


def max_logit(logits: NDArray[np.float32]) -> Numbers:
    """Negative largest logit: -max z."""
    return np.asarray(-logits.max(axis=1), np.float64)


def energy(logits: NDArray[np.float32]) -> Numbers:
    """Free energy at temperature 1: -ln sum exp z."""
    values = logits.astype(np.float64)
    peak = values.max(axis=1)
    return np.asarray(-peak - np.log(np.exp(values - peak[:, None]).sum(axis=1)), np.float64)


class Templates:
    """KL-matching's templates: the mean softmax of images predicted as each class, summed in blocks."""

    def __init__(self, classes: int) -> None:
        self._sums = np.zeros((classes, classes))
        self._counts = np.zeros(classes, np.int64)

    @property
    def count(self) -> int:
        """Number of images that the templates are computed from."""
        return int(self._counts.sum())

    def add(self, log_share: Numbers) -> None:
        """Add images, given their log-probabilities."""
        share, chosen = np.exp(log_share), log_share.argmax(axis=1)
        for place in np.unique(chosen):
            self._sums[place] += share[chosen == place].sum(axis=0)
        self._counts += np.bincount(chosen, minlength=len(self._counts))

    def distance(self, log_share: Numbers) -> Numbers:
        """min over classes c that some template image was predicted as of KL(p || d_c), in nats."""
        predicted = np.flatnonzero(self._counts)
        means = np.log(np.maximum(self._sums[predicted] / self._counts[predicted, None], LEAST))
        # A product of images x classes x classes is most of the work; float32 is exact to about 1e-5 nats.
        share = np.exp(log_share).astype(np.float32)
        nearest = (share @ means.astype(np.float32).T).max(axis=1)
        return np.asarray(-nearest - entropy(log_share), np.float64)


# OOD scores by name: those computed from probabilities, and those that need logits.
OF_SHARES: dict[str, Callable[[Numbers], Numbers]] = {
    "msp": msp,
    "entropy": entropy,
    "margin": margin,
    "gen": gen,
}
OF_LOGITS: dict[str, Callable[[NDArray[np.float32]], Numbers]] = {"max_logit": max_logit, "energy": energy}
KL_MATCHING = "kl_matching"

# Formulas in words, in the order of reports.
WORDS = {
    "msp": "negative maximum softmax probability",
    "max_logit": "negative largest logit",
    "energy": "free energy, -ln sum exp of the logits",
    "entropy": "entropy of the softmax",
    "margin": "negative difference of the two largest probabilities",
    "gen": f"generalised entropy, gamma {GEN_GAMMA:g}, the {GEN_LARGEST} largest probabilities",
    KL_MATCHING: (
        "smallest Kullback-Leibler divergence from the mean softmax of a class; the means use about half of "
        "the ID images, chosen by id, or by group where there are groups; these images are not scored"
    ),
}
