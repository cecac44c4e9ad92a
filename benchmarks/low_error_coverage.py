"""Coverage of 95 % intervals at error rates near 0: python benchmarks/low_error_coverage.py

Images, not predictions, are independent: an image that fails under one condition tends to fail under others.
The table lists mean error, flip probability, mCE and two differences by error rate and number of images, and
the exact coverage of Wilson's interval of one condition.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from interval_coverage import ALEXNET, fixed_mce, share_coverage
from worlds import Array, answers, correlation

from windtunnel.stats.measure import Measure
from windtunnel.stats.paired import estimate_difference

RATES = (0.005, 0.01, 0.02, 0.05)
IMAGES = (20, 50, 100, 200)


@dataclass(frozen=True)
class World:
    """Conditions of one image.

    Attributes:
        name: how the table calls it.
        profile: error of each condition in units of the mean error.
        within: share of a prediction that the image decides (latent variance).
    """

    name: str
    profile: Array
    within: float

    def errors(self, rate: float) -> Array:
        """True error of each condition."""
        return rate * self.profile

    def draw(self, rng: np.random.Generator, n: int, rate: float, models: int = 1) -> list[Array]:
        """Whether each model is wrong, images x conditions; models share 90 % of what is hard."""
        return answers(rng, n, [self.errors(rate)] * models, within=self.within, kinship=0.9)


# Severities 1 to 5 err in these proportions.
SEVERITIES = np.array([0.1, 0.2, 0.5, 1.0, 3.2])
WORLDS = (
    World("75 conditions, equal", np.ones(75), 0.85),
    World("75 conditions, by severity", np.tile(SEVERITIES, 15), 0.75),
    World("30 frames", np.ones(30), 0.6),
)
DIFFERENCES = World("clean and 75 conditions", np.ones(76), 0.85)
MCE = World("75 conditions, as AlexNet", ALEXNET / ALEXNET.mean(), 0.85)


def mean_of(wrong: Array) -> Measure:
    """Mean error, or flip probability, of images x conditions."""
    return Measure("", "", "", (), wrong, np.full(wrong.shape[1], 1 / wrong.shape[1]))


def residual_of(wrong: Array) -> Measure:
    """Mean error of all conditions but the first, less that of the first."""
    count = wrong.shape[1] - 1
    return Measure("", "", "", (), wrong, np.array([-1.0, *[1 / count] * count]))


def coverage(world: World, rate: float, n: int, simulations: int, seed: int = 0) -> tuple[float, float]:
    """Share of intervals of the mean that contain the true rate, and their mean width."""
    rng = np.random.default_rng(seed)
    truth, hits, width = float(world.errors(rate).mean()), 0, 0.0
    for _ in range(simulations):
        (wrong,) = world.draw(rng, n, rate)
        low, high = mean_of(wrong).interval()
        hits += low <= truth <= high
        width += high - low
    return hits / simulations, width / simulations


def mce_coverage(rate: float, n: int, simulations: int, seed: int = 0) -> float:
    """Share of intervals of mCE by AlexNet's published errors that contain the true mCE."""
    rng = np.random.default_rng(seed)
    truth, hits = float(fixed_mce(np.zeros((1, 75), bool)).of_means(MCE.errors(rate))), 0
    for _ in range(simulations):
        (wrong,) = MCE.draw(rng, n, rate)
        low, high = fixed_mce(wrong).interval()
        hits += low <= truth <= high
    return hits / simulations


def difference_coverage(rate: float, n: int, simulations: int, seed: int = 0) -> tuple[float, float]:
    """Share of intervals that contain 0: two equal models' difference, and residual robustness."""
    rng = np.random.default_rng(seed)
    hits = np.zeros(2)
    for _ in range(simulations):
        old, new = DIFFERENCES.draw(rng, n, rate, models=2)
        change = estimate_difference(mean_of(old[:, 1:]), mean_of(new[:, 1:]))
        for place, (low, high) in enumerate(
            ((change.end(0.025), change.end(0.975)), residual_of(new).interval())
        ):
            hits[place] += low <= 0 <= high
    return float(hits[0] / simulations), float(hits[1] / simulations)


def lines(simulations: int) -> Iterator[str]:
    """The tables, line by line."""
    yield "Wilson, one condition: exact coverage"
    yield "| error | " + " | ".join(f"{n:,} images" for n in IMAGES) + " |"
    yield "|---|" + "---|" * len(IMAGES)
    for rate in RATES:
        yield f"| {rate:.1%} | " + " | ".join(f"{share_coverage(n, rate)[0]:.1%}" for n in IMAGES) + " |"
    rng = np.random.default_rng(0)
    columns = [*(world.name for world in WORLDS), "mCE", "difference of two models", "residual"]
    yield ""
    yield f"{simulations:,} simulations; correlation of two conditions of an image at an error of 1 %: " + (
        ", ".join(f"{correlation(world.draw(rng, 50_000, 0.01)[0]):.2f}" for world in WORLDS)
    )
    yield "| error | images | " + " | ".join(columns) + " |"
    yield "|---|" + "---|" * (1 + len(columns))
    for rate in RATES:
        for n in IMAGES:
            found = [coverage(world, rate, n, simulations)[0] for world in WORLDS]
            found += [mce_coverage(rate, n, simulations), *difference_coverage(rate, n, simulations)]
            yield f"| {rate:.1%} | {n:,} | " + " | ".join(f"{one:.1%}" for one in found) + " |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2000)
    for line in lines(parser.parse_args().simulations):
        print(line, flush=True)


if __name__ == "__main__":
    main()
