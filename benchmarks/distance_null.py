"""Is the excess of a Fréchet distance over halves of the same set zero where there is no shift?

Draws two sets of points from one normal distribution whose features have very different spreads, splits them
as `windtunnel distance` does, and says how far the excess is from zero, as a share of the distance of two
halves, and how often its range over splits leaves zero out.

    python benchmarks/distance_null.py [REPEATS]
"""

from __future__ import annotations

import sys

import numpy as np

from windtunnel.analysis.distance import SPLITS
from windtunnel.stats.frechet import frechet_distance, moments

# Features, pictures in a group.
CASES = ((16, 30), (64, 100), (64, 500), (256, 100))


def excesses(rng: np.random.Generator, features: int, n: int) -> np.ndarray:
    """The excess of every split of one pair of sets, as a share of the distance of two halves."""
    scales = np.linspace(0.1, 2, features)
    sets = [rng.normal(size=(2 * n, features)) * scales for _ in range(2)]
    found = []
    for _ in range(SPLITS):
        (a, other_a), (b, other_b) = (
            (moments(points[order[:n]]), moments(points[order[n:]]))
            for points in sets
            for order in [rng.permutation(2 * n)]
        )
        null = (frechet_distance(a, other_a) + frechet_distance(b, other_b)) / 2
        found.append(frechet_distance(a, b) / null - 1)
    return np.array(found)


def main(repeats: int) -> None:
    """Print one line per case."""
    rng = np.random.default_rng(0)
    print("features    n  mean excess  std of medians  ranges without zero: above, below")
    for features, n in CASES:
        found = np.array([excesses(rng, features, n) for _ in range(repeats)])
        low, high = np.quantile(found, (0.025, 0.975), axis=1)
        print(
            f"{features:>8} {n:>4}  {found.mean():>10.2%}  {np.median(found, axis=1).std():>13.2%}  "
            f"{(low > 0).mean():>26.1%}, {(high < 0).mean():.1%}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
