"""Coverage of intervals for the difference of two methods of training: python benchmarks/seed_coverage.py

Simulates errors of several methods, seeds and images with a known difference: an image is classified
correctly if the sum of normal effects of the method, the image, the training, the method on this image and
chance is above 0. Compares the interval of `windtunnel.stats.seed_differences` with percentiles of a
bootstrap that resamples seeds and images together.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.special import ndtr

from windtunnel.stats.seed_differences import seed_difference, seed_variance

REPLICATES = 400
# Standard deviation of the effect of a training, its factor for the new method, the share that trainings of
# one seed have in common, and whether the interval is that of paired seeds.
CASES = (
    (0.0, 1, 0.0, True), (0.05, 1, 0.0, True), (0.05, 1, 0.5, True), (0.2, 1, 0.0, True), (0.2, 1, 0.5, True),
    (0.05, 1, 0.0, False), (0.2, 1, 0.0, False), (0.05, 2, 0.0, True), (0.05, 5, 0.0, True),
)  # fmt: skip


def simulated(
    rng: np.random.Generator,
    means: np.ndarray,
    seeds: int,
    images: int,
    training: np.ndarray,
    shared: float,
    conditions: int = 4,
) -> np.ndarray:
    """Errors (methods, seeds, images), each the mean over some conditions."""
    methods = len(means)
    image = rng.normal(0, 1, (1, 1, images, 1))
    own = rng.normal(0, 0.4, (methods, 1, images, 1))
    common = rng.normal(0, 1, (1, seeds, 1, 1)) * np.sqrt(shared)
    apart = rng.normal(0, 1, (methods, seeds, 1, 1)) * np.sqrt(1 - shared)
    chance = rng.normal(0, 0.7, (methods, seeds, images, conditions))
    effect = training[:, None, None, None] * (common + apart)
    return (means[:, None, None, None] + image + own + effect + chance < 0).mean(axis=3)


def truth(means: np.ndarray, training: np.ndarray) -> np.ndarray:
    """The expected error of each method."""
    return ndtr(-means / np.sqrt(1 + 0.4**2 + training**2 + 0.7**2))


def bootstrap(rng: np.random.Generator, new: np.ndarray, old: np.ndarray) -> tuple[float, float]:
    """Percentiles of replicates that draw seeds and images with replacement."""
    seeds, images = new.shape
    change = new - old
    values = []
    for _ in range(REPLICATES):
        times = rng.multinomial(seeds, np.full(seeds, 1 / seeds)) / seeds
        values.append((times @ change)[rng.integers(0, images, images)].mean())
    return float(np.quantile(values, 0.025)), float(np.quantile(values, 0.975))


def main() -> None:
    """Print coverage and mean width for several numbers of seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--methods", type=int, default=8)
    given = parser.parse_args()
    rng = np.random.default_rng(2026)
    print(
        "| seeds | seed effect | of the new method | shared | coverage | width | bootstrap coverage | width |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for seeds in (2, 3, 5):
        for effect, factor, shared, paired in CASES:
            means = np.linspace(0.5, 0.7, given.methods)
            training = np.full(given.methods, effect)
            training[-1] *= factor
            expected = truth(means, training)
            inside, width, inside_other, width_other = 0, 0.0, 0, 0.0
            for _ in range(given.trials):
                errors = simulated(rng, means, seeds, given.images, training, shared)
                pooled = seed_variance(errors.mean(axis=2), paired=paired)
                found = seed_difference(errors[-1], errors[0], pooled)
                low, high = bootstrap(rng, errors[-1], errors[0])
                true = expected[-1] - expected[0]
                inside += found.low <= true <= found.high
                inside_other += low <= true <= high
                width += found.high - found.low
                width_other += high - low
            how = f"{shared:.0%}, {'paired' if paired else 'unpaired'}"
            shares = [100 * value / given.trials for value in (inside, width, inside_other, width_other)]
            cells = " | ".join(f"{value:.1f}" for value in shares)
            print(f"| {seeds} | {effect} | x {factor} | {how} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
