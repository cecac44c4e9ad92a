"""Number of predictions that are correct by chance, and its probability for a model of a given skill.

Chance is the accuracy with shuffled labels. Shuffling keeps how often each class is predicted and how often
it is a label, and removes every relation between image and label. It is the expected accuracy of a model
without skill, also for unbalanced classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def right_by_chance(predicted: NDArray[np.int32], accepted: Sequence[tuple[int, ...]]) -> NDArray[np.float64]:
    """For each image the probability that its prediction is right if labels are shuffled among the images.

    It is the share of all predictions that are right for the image's labels.

    Args:
        predicted: the class predicted for each image.
        accepted: the classes that are right for each image.
    """
    classes, times = np.unique(predicted, return_counts=True)
    counts = {labels: float(times[np.isin(classes, labels)].sum()) for labels in set(accepted)}
    return np.array([counts[labels] for labels in accepted], np.float64) / len(accepted)


def probability_of_so_few(right: int, by_chance: NDArray[np.float64], skill: float) -> float:
    """The probability that a model of this skill is correct on at most this many images.

    Skill is (accuracy - chance) / (1 - chance): 0 at chance, 1 if every image is right. Each image is right
    with probability p = skill + (1 - skill) * by_chance, so that the number of right images is Poisson
    binomial: its probabilities are the inverse Fourier transform of the product of (1 - p + p * exp(-iw))
    over images.

    The probability falls as the skill rises: at most 0.05 means that the upper end of the one-sided 95 %
    confidence interval of the skill is at most `skill`.
    """
    count = len(by_chance)
    shares, times = np.unique(skill + (1 - skill) * by_chance, return_counts=True)
    steps = np.exp(-2j * np.pi * np.arange((count + 1) // 2 + 1) / (count + 1))
    transform = np.ones(len(steps), np.complex128)
    for share, often in zip(shares, times, strict=True):
        transform *= (1 - share + share * steps) ** int(often)
    probabilities = np.fft.irfft(transform, count + 1)
    return float(np.clip(probabilities[: right + 1].sum(), 0.0, 1.0))
