"""Probabilities from logits, and logits from probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.models import Outputs, Scores


def softmax(logits: NDArray[np.floating]) -> Scores:
    """Probabilities (n, k) of logits; a row that is not finite has no finite probabilities."""
    with np.errstate(invalid="ignore"):
        exponentials = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
        return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True), np.float32)


def log_probabilities(probabilities: Scores) -> NDArray[np.float64]:
    """Logits of probabilities: their logarithms; a probability of zero becomes the smallest positive one."""
    return np.log(np.maximum(probabilities.astype(np.float64), np.finfo(np.float32).tiny))


def as_probabilities(scores: Scores, outputs: Outputs) -> Scores:
    """Scores as probabilities."""
    return softmax(scores) if outputs == "logits" else scores
