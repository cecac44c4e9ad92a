"""Accuracies of a made-up study, whose overlaps are known."""

from __future__ import annotations

import numpy as np

from windtunnel.analysis.overlap.accuracies import Accuracies

# Corruptions that help against each other; the last one gains nothing from its own training.
BLOCKS = (
    ("gaussian_noise:3", "shot_noise:3", "impulse_noise:3", "speckle_noise:3"),
    ("defocus_blur:3", "glass_blur:3", "motion_blur:3"),
    ("brightness:3", "contrast:3", "fog:3"),
)
ALONE = "pixelate:3"
USELESS = "snow:3"
NAMES = (*(name for block in BLOCKS for name in block), ALONE, USELESS)
SAME = ("gaussian_noise:3", "shot_noise:3")  # with an overlap of 1


def share_of_gain(trained: str, tested: str) -> float:
    """How much of the own gain a training on another corruption gives."""
    if trained == tested or {trained, tested} == set(SAME):
        return 1.0
    together = any(trained in block and tested in block for block in BLOCKS)
    return 0.6 if together else 0.02 if ALONE in (trained, tested) else 0.1


def block_accuracies() -> Accuracies:
    """Three seeds of 4,000 images; only chance differs between seeds."""
    names, seeds, images = ("clean", *NAMES), 3, 4000
    generator = np.random.default_rng(7)
    values = np.empty((seeds, len(names), len(names)))
    for row, trained in enumerate(names):
        for column, tested in enumerate(names):
            gain = 0.0 if "clean" in (trained, tested) else 0.25 * share_of_gain(trained, tested)
            share = 0.9 if tested == "clean" else 0.5 if USELESS in (trained, tested) else 0.5 + gain
            values[:, row, column] = generator.binomial(images, share, seeds) / images
    return Accuracies(NAMES, (0, 1, 2), values, np.full(values.shape, images))
