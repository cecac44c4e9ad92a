"""How often 95 % intervals hold the truth: python benchmarks/interval_coverage.py [--simulations 2000]

Wilson's and Clopper and Pearson's intervals of a share; mCE's against fixed errors (AlexNet's published) and
against a stored run's on the same images, which are drawn together with the model's; top-5 distances'.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.stats import binom
from worlds import Array, answers, correlation

from windtunnel.metrics.baseline import PairedValues, ratio
from windtunnel.metrics.corruption_error import THE_FIFTEEN, alexnet_errors
from windtunnel.metrics.stability import farthest_top5
from windtunnel.stats.intervals import clopper_pearson, wilson
from windtunnel.stats.measure import Measure, bounded_interval

ALEXNET = np.array([alexnet_errors()[unit] for unit in THE_FIFTEEN]).ravel()
LEVELS = 5
# Of ImageNet's classes the five best can move so far.
FARTHEST = farthest_top5(1000)
# The corruption of every condition, the severities of one side by side.
UNITS = tuple(unit for unit in THE_FIFTEEN for _ in range(LEVELS))


@dataclass(frozen=True)
class Case:
    """One world: the model's and the stored run's true errors, and what an image decides of an answer."""

    name: str
    model: Array
    base: Array
    within: float


CASES = (
    Case("near 0", np.full(75, 0.04), np.full(75, 0.05), 0.85),
    Case("near 0, base middling", np.full(75, 0.04), 0.6 * ALEXNET, 0.85),
    Case("middling", 0.6 * ALEXNET, ALEXNET, 0.8),
    Case("near 1, base middling", np.full(75, 0.96), 0.6 * ALEXNET, 0.85),
    Case("near 1", np.full(75, 0.96), np.full(75, 0.95), 0.85),
)


def fixed_mce(wrong: Array) -> Measure:
    """mCE against AlexNet's published errors."""
    weights = np.repeat(1 / ALEXNET.reshape(-1, LEVELS).sum(axis=1) / len(THE_FIFTEEN), LEVELS)
    return Measure("mce", "", "", (), wrong, weights)


def stored_mce(wrong: Array, base: Array) -> Measure:
    """mCE against a stored run on the same images."""
    found = PairedValues("the stored run", UNITS, UNITS, wrong.astype(float), base.astype(float), None)
    return ratio(found, "mce", "", THE_FIFTEEN)


def coverage(case: Case, n: int, simulations: int, seed: int = 0) -> tuple[float, float, float]:
    """Share of intervals that hold the truth, fixed and stored, and the correlation within images."""
    rng = np.random.default_rng(seed)
    fixed_truth = float(fixed_mce(np.zeros((1, 75), bool)).of_means(case.model))
    # The truth is the score of one image that is wrong by the true errors.
    stored_truth = stored_mce(case.model[None], case.base[None]).value
    hits = np.zeros(2)
    for _ in range(simulations):
        wrong, base = answers(rng, n, [case.model, case.base], within=case.within, kinship=0.9)
        for place, (measure, truth) in enumerate(
            ((fixed_mce(wrong), fixed_truth), (stored_mce(wrong, base), stored_truth))
        ):
            low, high = measure.interval()
            hits[place] += low <= truth <= high
    wrong, _ = answers(rng, 20_000, [case.model, case.base], within=case.within, kinship=0.9)
    return float(hits[0] / simulations), float(hits[1] / simulations), correlation(wrong)


# How many pairs of frames an image has, and how many ranks beyond the first a change moves, of those left.
PAIRS = 30
MOVED = 0.2
# The share of pairs that change, and what an image decides of it.
STEADINESS = {"hardly ever": (0.002, 0.85), "seldom": (0.02, 0.85), "often": (0.3, 0.6)}


def mean_distance(distances: Array) -> Measure:
    """uT5D of images x pairs, as `metrics/perturbed.py` makes it."""
    weights = np.full(PAIRS, 1 / PAIRS)
    interval_of = partial(bounded_interval, per_image=PAIRS)
    return Measure("ut5d", "", "", (), distances, weights, limits=(0, FARTHEST), interval_of=interval_of)


def distance_coverage(changes: str, n: int, simulations: int, seed: int = 0) -> tuple[float, float]:
    """Share of intervals of top-5 distances that hold the truth: ours, and Student's."""
    rng = np.random.default_rng(seed)
    share, within = STEADINESS[changes]
    truth = share * (1 + MOVED * (FARTHEST - 1))
    hits = np.zeros(2)
    for _ in range(simulations):
        (changed,) = answers(rng, n, [np.full(PAIRS, share)], within=within, kinship=1.0)
        measure = mean_distance(changed * (1 + rng.binomial(FARTHEST - 1, MOVED, changed.shape)))
        for place, one in enumerate((measure, replace(measure, interval_of=None))):
            low, high = one.interval()
            hits[place] += low <= truth <= high
    return float(hits[0] / simulations), float(hits[1] / simulations)


def share_coverage(n: int, share: float) -> tuple[float, float]:
    """Exact coverage of Wilson's and Clopper and Pearson's intervals, summed over all outcomes."""
    chance = binom.pmf(np.arange(n + 1), n, share)

    def held(interval: tuple[float, float]) -> bool:
        return interval[0] <= share <= interval[1]

    both = np.array([[held(wilson(k, n)), held(clopper_pearson(k, n))] for k in range(n + 1)], float)
    covered = chance @ both
    return float(covered[0]), float(covered[1])


def lines(simulations: int) -> Iterator[str]:
    """The tables, line by line."""
    yield "| share | n | Wilson | Clopper-Pearson |"
    yield "|---|---|---|---|"
    for n in (200, 1000):
        for share in (0.02, 0.05, 0.3, 0.5, 0.95):
            covered = share_coverage(n, share)
            yield f"| {share} | {n:,} | {covered[0]:.1%} | {covered[1]:.1%} |"
    yield ""
    yield f"mCE, {simulations:,} simulations"
    yield "| errors | n | correlation | fixed baseline | stored run |"
    yield "|---|---|---|---|---|"
    for case in CASES:
        for n in (200, 1000):
            fixed, stored, within = coverage(case, n, simulations)
            yield f"| {case.name} | {n:,} | {within:.2f} | {fixed:.1%} | {stored:.1%} |"
    yield ""
    yield f"top-5 distance, {simulations:,} simulations"
    yield "| answers change | n | share of 18 ranks | Student |"
    yield "|---|---|---|---|"
    for changes in STEADINESS:
        for n in (20, 200, 1000):
            ours, student = distance_coverage(changes, n, simulations)
            yield f"| {changes} | {n:,} | {ours:.1%} | {student:.1%} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2000)
    for line in lines(parser.parse_args().simulations):
        print(line, flush=True)


if __name__ == "__main__":
    main()
