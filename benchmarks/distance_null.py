"""Is the excess of a Fréchet distance over halves of the same set zero where there is no shift?

Draws two sets of points from one normal distribution whose features have very different spreads, takes the
distances of splits as `windtunnel distance` does, and says how far the excess is from zero, as a share of the
distance of two halves, and how often its range over splits leaves zero out. The second set may be frames of
videos, nearly alike within a video.

    python benchmarks/distance_null.py [REPEATS]
"""

from __future__ import annotations

import sys

import numpy as np

from windtunnel.analysis.distance import RANGE
from windtunnel.analysis.distance_splits import split_distances
from windtunnel.options import DistanceOptions

# Features, images in a group, frames of every video of B.
CASES = ((16, 30, 1), (64, 100, 1), (64, 500, 1), (256, 100, 1), (16, 10, 21), (48, 10, 21), (64, 100, 21))
# How much of a frame's variance its video has.
KINSHIP = 0.9


def excesses(rng: np.random.Generator, features: int, n: int, frames: int = 1) -> np.ndarray:
    """The excess of every split of one pair of sets, as a share of the distance of two halves."""
    scales = np.linspace(0.1, 2, features)
    apart, own = rng.normal(size=(2, 2 * n, features)), rng.normal(size=(2 * n * frames, features))
    shown = np.sqrt(KINSHIP) * apart[1].repeat(frames, axis=0) + np.sqrt(1 - KINSHIP) * own
    values = [(one * scales).astype(np.float32) for one in (apart[0], shown)]
    ids = [[f"a/{row}" for row in range(2 * n)], [f"b/{row}" for row in range(2 * n * frames)]]
    videos = {id_: f"video {row // frames}" for row, id_ in enumerate(ids[1])} if frames > 1 else {}
    seed = int(rng.integers(2**31))
    between, *within = np.array(
        [split_distances(ids, values, videos, n, seed, split) for split in range(DistanceOptions().splits)]
    ).T
    return np.asarray(between / np.mean(within, axis=0) - 1)


def main(repeats: int) -> None:
    """Print one line per case."""
    rng = np.random.default_rng(0)
    print("features    n  frames  mean excess  std of medians  ranges without zero: above, below")
    for features, n, frames in CASES:
        found = np.array([excesses(rng, features, n, frames) for _ in range(repeats)])
        low, high = np.quantile(found, RANGE, axis=1)
        print(
            f"{features:>8} {n:>4}  {frames:>6}  {found.mean():>10.2%}  "
            f"{np.median(found, axis=1).std():>13.2%}  {(low > 0).mean():>26.1%}, {(high < 0).mean():.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
