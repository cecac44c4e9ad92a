"""How often intervals over an axis hold the truth: python benchmarks/axis_coverage.py [--simulations 2000]

The sample standard deviation and the range of several methods' accuracies on the same images, 72 % right on
average. Method j is right about image i where sqrt(k)*u_i + sqrt(1 - k)*e_ij is low enough for its
accuracy; k is such that two methods disagree about as many images as is said. `spread`: accuracies evenly
apart, the e of each method its own. `one apart`: all methods but the last answer alike. `grouped`: as
`spread`, images in groups of five that share half of u.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from worlds import Array, kinship_for

from windtunnel.stats.bootstrap import replicated_means
from windtunnel.stats.measure import Measure
from windtunnel.stats.spread import range_interval, std_interval

ACCURACY = 0.72
SHAPES = ("spread", "one apart", "grouped")
GROUP = 5


@dataclass(frozen=True)
class Case:
    """One world: how many methods, their true standard deviation, how often two disagree, how they lie."""

    methods: int
    std: float
    discordance: float
    shape: str

    @property
    def accuracies(self) -> Array:
        """The true accuracies."""
        places = np.linspace(-1, 1, self.methods)
        if self.shape == "one apart":
            places = np.eye(self.methods)[-1]
        places = places - places.mean()
        return np.asarray(ACCURACY + self.std * places / places.std(ddof=1))

    @property
    def possible(self) -> bool:
        """Whether methods that disagree so seldom can lie so far apart."""
        return bool(np.ptp(self.accuracies) <= self.discordance)

    def answers(self, rng: np.random.Generator, n: int) -> tuple[Array, Array | None]:
        """Which of n images every method gets right, and the images' groups."""
        kinship = kinship_for(self.discordance, 1 - ACCURACY)
        ease = rng.standard_normal((n, 1))
        groups = None
        if self.shape == "grouped":
            groups = np.arange(n) // GROUP
            ease = np.sqrt(0.5) * rng.standard_normal((n // GROUP + 1, 1))[groups] + np.sqrt(0.5) * ease
        own = rng.standard_normal((n, self.methods))
        if self.shape == "one apart":
            own = np.repeat(own[:, :2], [self.methods - 1, 1], axis=1)
        return np.sqrt(kinship) * ease + np.sqrt(1 - kinship) * own < ndtri(self.accuracies), groups


CASES = tuple(
    case
    for shape in SHAPES
    for methods in ((2, 6, 17) if shape != "grouped" else (6,))
    for std in (0.0, 0.005, 0.02)
    for discordance in (0.01, 0.046, 0.2)
    if (case := Case(methods, std, discordance, shape)).possible
)


def measures(right: Array, groups: Array | None) -> tuple[Measure, Measure]:
    """Standard deviation and range, as `metrics/pipeline.py` has them."""
    std = Measure("std", "", "", (), right, combine=lambda means: means.std(axis=-1, ddof=1),
                  limits=(0, 1), groups=groups, ends=std_interval)  # fmt: skip
    span = Measure("range", "", "", (), right, combine=lambda means: np.ptp(means, axis=-1),
                   limits=(0, 1), groups=groups, ends=range_interval)  # fmt: skip
    return std, span


@dataclass(frozen=True)
class Found:
    """Of standard deviation and range: share of intervals that hold the truth, mean value, mean ends."""

    held: Array
    value: Array
    low: Array
    high: Array


def coverage(case: Case, n: int, simulations: int, seed: int = 0) -> Found:
    """Simulate a case."""
    rng = np.random.default_rng(seed)
    truth = (case.std, float(np.ptp(case.accuracies)))
    rows = []
    for _ in range(simulations):
        right, groups = case.answers(rng, n)
        drawn = np.concatenate(list(replicated_means(right, groups=groups)))
        for place, measure in enumerate(measures(right, groups)):
            low, high = measure.ends_of(drawn)
            rows.append((low - 1e-9 <= truth[place] <= high + 1e-9, measure.value, low, high))
    return Found(*np.array(rows).reshape(simulations, 2, 4).mean(axis=0).T)


def lines(simulations: int) -> Iterator[str]:
    """The table, line by line."""
    yield f"{simulations:,} simulations; standard deviations and ranges in points of accuracy"
    numbers = [f"true {what} | {what}, mean | ends, mean | held" for what in ("std", "range")]
    yield f"| shape | n | methods | disagree | {' | '.join(numbers)} |"
    yield "|---" * 12 + "|"
    for n in (200, 1000):
        # More images are no harder: of them only a few cases.
        for case in CASES if n == 200 else CASES[::5]:
            found = coverage(case, n, simulations)
            truth = (case.std, float(np.ptp(case.accuracies)))
            cells = [
                f"{100 * truth[place]:.2f} | {100 * found.value[place]:.2f} | "
                f"{100 * found.low[place]:.2f} to {100 * found.high[place]:.2f} | {found.held[place]:.1%}"
                for place in (0, 1)
            ]
            yield f"| {case.shape} | {n:,} | {case.methods} | {case.discordance:.1%} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2000)
    for line in lines(parser.parse_args().simulations):
        print(line, flush=True)


if __name__ == "__main__":
    main()
