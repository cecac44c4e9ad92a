"""How often the doctor doubts a right declaration: python benchmarks/doctor_alarms.py [--simulations 2000]

The worst case for it: none of its trials is truly better than the declared preprocess and none worse, so
that every one may be taken by chance. A trial's margin on an image is m = sqrt(k)*ease + sqrt(1 - k)*own,
less the quantile that gives the error; it is right where m > 0. Scores are (m, 0), from which the labels'
log-probabilities are taken as the doctor takes them. Discordance is how many answers a trial changes, and
decides k. Geometries are tried too after an order of outputs that the images suggest: 20 classes, and an
answer that is not right is any other, drawn anew.

The second table is what would be if images of one group, whose own parts are correlated, were taken as
independent; the doctor uses one of each group, and the first table holds.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtri
from worlds import kinship_for

from windtunnel.analysis.doctor_bench import log_probabilities, scale_of
from windtunnel.analysis.doctor_trials import Trial, choose
from windtunnel.analysis.preprocess_grid import Order, suggested_order
from windtunnel.models.preprocess import declared
from windtunnel.options import DoctorOptions

# Images that the doctor uses by default.
IMAGES = DoctorOptions().subset

# Error, share of answers changed, and how many are tried: 20 on a small network, 130 on one for ImageNet.
CASES = (
    (0.05, 0.02, 20),
    (0.05, 0.05, 20),
    (0.3, 0.02, 20),
    (0.3, 0.1, 20),
    (0.3, 0.3, 20),
    (0.5, 0.1, 20),
    (0.3, 0.1, 130),
)
# Images per group, and how alike a trial's own part is within one.
GROUPED = ((5, 0.5), (10, 0.5))
OWN = declared("imagenet", None).preprocess
OTHER = replace(OWN, geometry=replace(OWN.geometry, resizer="opencv-area"))
DECLARED, REORDERED = Order("declared", ()), Order("other", ())
# How the trials differ from what is declared.
KINDS = {
    "arithmetic": (OWN, DECLARED),
    "geometry and filter": (OTHER, DECLARED),
    "label order": (OWN, REORDERED),
}
AFTER_ORDER = "geometry and filter, order suggested"
CLASSES = 20

Array = np.ndarray[Any, np.dtype[Any]]


def alarms(
    simulations: int,
    error: float,
    discordance: float,
    tried: int,
    *,
    counted: int | None = None,
    size: int = 1,
    alike: float = 0.0,
) -> dict[str, float]:
    """Share of simulated data sets on which some trial is taken for surely better, by kind of trial.

    `counted` is what p-values are multiplied by, if not by the number tried; `size` and `alike` are how many
    images a group has, and how alike they are.
    """
    rng, rng_of_answers = np.random.default_rng(0), np.random.default_rng(1)
    kinship = kinship_for(discordance, error)
    doubted = dict.fromkeys((*KINDS, AFTER_ORDER), 0)
    for _ in range(simulations):
        drawn = margins(rng, IMAGES, error, kinship, tried + 1, size, alike)
        own, *others = map(_trial, drawn)
        for kind, (way, order) in KINDS.items():
            trials = [replace(one, preprocess=way, order=order) for one in others]
            doubted[kind] += choose(own, trials, counted or tried) is not own
        own, *others = _after_order(rng_of_answers, drawn)
        doubted[AFTER_ORDER] += choose(own, others, counted or tried) is not own
    return {kind: count / simulations for kind, count in doubted.items()}


def margins(
    rng: np.random.Generator,
    images: int,
    error: float,
    kinship: float,
    trials: int,
    size: int = 1,
    alike: float = 0.0,
) -> Array:
    """Margins, trials x images, alike in distribution and correlated by `kinship`, and so within groups."""
    ease, own = rng.standard_normal(images), rng.standard_normal((trials, images))
    if alike:
        shared = rng.standard_normal((trials, images // size)).repeat(size, axis=1)
        own = np.sqrt(alike) * shared + np.sqrt(1 - alike) * own
    return np.asarray(np.sqrt(kinship) * ease + np.sqrt(1 - kinship) * own - ndtri(error))


def _trial(margin: Array) -> Trial:
    scores = np.stack([margin, np.zeros_like(margin)], axis=1).astype(np.float32)
    sure = log_probabilities(scores / scale_of(scores), [[[0]] * len(margin)])[:, 0]
    return Trial(("other",), OWN, DECLARED, margin > 0, sure)


def _after_order(rng: np.random.Generator, drawn: Array) -> list[Trial]:
    """Trials judged by the order of outputs that the first one's answers suggest."""
    labels = rng.permutation(np.arange(drawn.shape[1]) % CLASSES)
    others = (labels + rng.integers(1, CLASSES, drawn.shape)) % CLASSES
    answers = np.where(drawn > 0, labels, others)
    order = suggested_order(answers[0], labels, CLASSES)
    ways = [OWN, *[OTHER] * (len(drawn) - 1)]
    return [
        Trial(("other",), way, order, order.right(chosen, labels[:, None]))
        for way, chosen in zip(ways, answers, strict=True)
    ]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2000)
    simulations = parser.parse_args().simulations
    print(f"{IMAGES} images, {simulations:,} simulated data sets")
    kinds = (*KINDS, AFTER_ORDER)
    print("| error | answers changed | tried | " + " | ".join(kinds) + " |")
    print("|---|---|---|" + "---|" * len(kinds))
    for error, discordance, tried in CASES:
        found = alarms(simulations, error, discordance, tried)
        shown = " | ".join(f"{one:.2%}" for one in found.values())
        print(f"| {error} | {discordance:.0%} | {tried} | {shown} |", flush=True)
    print("\n| images per group, taken as independent | " + " | ".join(kinds) + " |")
    print("|---|" + "---|" * len(kinds))
    for size, alike in GROUPED:
        found = alarms(simulations, 0.3, 0.3, 20, size=size, alike=alike)
        print(f"| {size} | " + " | ".join(f"{one:.2%}" for one in found.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
