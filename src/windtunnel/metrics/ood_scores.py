"""Out-of-distribution scores: from what a model says of an image to one number, high where it is out.

With z the logits over the classes that count, p their softmax, p1 and p2 its two largest:

msp          = -max p                            the published code of ImageNet-O
max_logit    = -max z
energy       = -ln sum exp z
entropy      = -sum p ln p
margin       = -(p1 - p2)
gen          = sum over the M largest p of (p (1 - p))^gamma     gamma 0.1, M 100, or all classes if fewer
kl_matching  = min over classes c of KL(p || d_c), d_c the mean p of template images predicted as c

Max logit and energy need logits: a softmax has lost what they measure.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

GEN_GAMMA = 0.1
GEN_LARGEST = 100
# A probability of 0 counts as the least that float32 holds in full.
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
    """The two largest probabilities' difference, negated: -(p1 - p2); of a single class -p1."""
    if log_share.shape[1] < 2:
        return msp(log_share)
    best = np.exp(np.partition(log_share, -2, axis=1)[:, -2:])
    return np.asarray(best[:, 0] - best[:, 1], np.float64)


def gen(log_share: Numbers, gamma: float = GEN_GAMMA, largest: int = GEN_LARGEST) -> Numbers:
    """Generalised entropy: sum over the largest p of (p (1 - p))^gamma."""
    kept = min(largest, log_share.shape[1])
    best = np.partition(log_share, -kept, axis=1)[:, -kept:]
    # 1 - p by expm1, since p near 1 is where this score looks.
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
    """KL-matching's templates: the mean softmax of images predicted as each class, gathered in blocks."""

    def __init__(self, classes: int) -> None:
        self._sums = np.zeros((classes, classes))
        self._counts = np.zeros(classes, np.int64)

    @property
    def count(self) -> int:
        """How many images they are made of."""
        return int(self._counts.sum())

    def add(self, log_share: Numbers) -> None:
        """Take these images in."""
        share, chosen = np.exp(log_share), log_share.argmax(axis=1)
        for place in np.unique(chosen):
            self._sums[place] += share[chosen == place].sum(axis=0)
        self._counts += np.bincount(chosen, minlength=len(self._counts))

    def distance(self, log_share: Numbers) -> Numbers:
        """min over classes c that some template image was predicted as of KL(p || d_c), in nats."""
        found = np.flatnonzero(self._counts)
        means = np.log(np.maximum(self._sums[found] / self._counts[found, None], LEAST))
        # A product of images x classes x classes is most of the work; float32 is exact to about 1e-5 nats.
        share = np.exp(log_share).astype(np.float32)
        nearest = (share @ means.astype(np.float32).T).max(axis=1)
        return np.asarray(-nearest - entropy(log_share), np.float64)


# By name, what is made of the probabilities alone and what needs logits.
OF_SHARES: dict[str, Callable[[Numbers], Numbers]] = {
    "msp": msp,
    "entropy": entropy,
    "margin": margin,
    "gen": gen,
}
OF_LOGITS: dict[str, Callable[[NDArray[np.float32]], Numbers]] = {"max_logit": max_logit, "energy": energy}
KL_MATCHING = "kl_matching"

# In the order of reports, with the words of a score's formula.
WORDS = {
    "msp": "negative maximum softmax probability",
    "max_logit": "negative largest logit",
    "energy": "free energy, -ln sum exp of the logits",
    "entropy": "entropy of the softmax",
    "margin": "negative difference of the two largest probabilities",
    "gen": f"generalised entropy, gamma {GEN_GAMMA:g}, the {GEN_LARGEST} largest probabilities",
    KL_MATCHING: (
        "least Kullback-Leibler divergence from the mean softmax of a class; these means are of about half "
        "of the in-distribution images, drawn by id, or by group where there are groups, which are left "
        "out here"
    ),
}
