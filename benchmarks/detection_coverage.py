"""How often 95 % intervals of AUROC, AUPR and FPR95 hold the truth: python benchmarks/detection_coverage.py

Scores of in images are normal, of out images normal and shifted; a second model's scores lean on the same
images. The truth is the same score at the same share of out images, of two million images.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from windtunnel.metrics.binary_ranking import curve
from windtunnel.metrics.ood_detection import AUPR, AUPR_TRAPEZOID, AUROC, FPR95
from windtunnel.stats.paired import estimate_difference

Numbers = NDArray[np.float64]
JUDGES = {"AUROC": AUROC, "AUPR": AUPR, "AUPR, trapezoid": AUPR_TRAPEZOID, "FPR95": FPR95}
# How much of an image's score two models share.
KINSHIP = 0.7
LARGE = 1_000_000


@dataclass(frozen=True)
class Case:
    """How scores fall: so many images, out ones shifted and spread so much, rounded to so much."""

    name: str
    n_out: int
    n_in: int
    shift: float
    spread: float = 1.0
    grid: float = 0.0

    def draw(self, rng: np.random.Generator, scale: int = 1) -> tuple[Numbers, Numbers, NDArray[np.bool_]]:
        """The scores of two models, the second seeing less; and which images are out."""
        n_out, n_in = self.n_out * scale, self.n_in * scale
        out = np.arange(n_out + n_in) < n_out
        shared = rng.normal(size=len(out))
        found = []
        for shift in (self.shift, 0.8 * self.shift):
            own = rng.normal(size=len(out))
            noise = np.sqrt(KINSHIP) * shared + np.sqrt(1 - KINSHIP) * own
            scores = np.where(out, shift + self.spread * noise, noise)
            found.append(np.round(scores / self.grid) * self.grid if self.grid else scores)
        return found[0], found[1], out


CASES = (
    Case("200 out, 1,000 in, near chance", 200, 1000, 0.1),
    Case("200 out, 1,000 in, well separated", 200, 1000, 1.0),
    Case("200 out, 1,000 in, very well separated", 200, 1000, 2.5),
    Case("200 out, 1,000 in, wide, ties", 200, 1000, 0.8, 1.5, 0.25),
    Case("50 out, 50 in", 50, 50, 1.0),
    Case("2,000 out, 10,000 in", 2000, 10000, 0.3),
    Case("400 out, 20 in, very well separated", 400, 20, 2.5),
    Case("400 out, 20 in, almost perfectly separated", 400, 20, 4.0),
    Case("20 out, 400 in, very well separated", 20, 400, 2.5),
    Case("20 out, 400 in, almost perfectly separated", 20, 400, 4.0),
)


@lru_cache(maxsize=8)
def truths(case: Case) -> tuple[dict[str, float], dict[str, float]]:
    """The scores of both models over endlessly many images."""
    scale = LARGE // (case.n_out + case.n_in)
    first, second, out = case.draw(np.random.default_rng(1), scale)
    both = [{name: judge.of(curve(one, out))[0] for name, judge in JUDGES.items()} for one in (first, second)]
    return both[0], both[1]


def coverage(case: Case, simulations: int, seed: int = 0) -> dict[str, tuple[float, float]]:
    """By score, how often the interval holds the truth, and that of the paired difference of two models."""
    rng = np.random.default_rng(seed)
    theirs = truths(case)
    hits = {name: np.zeros(2) for name in JUDGES}
    for _ in range(simulations):
        first, second, out = case.draw(rng)
        for name, judge in JUDGES.items():
            old, new = judge.measure(first, out), judge.measure(second, out)
            low, high = old.interval()
            change = estimate_difference(old, new)
            gap = theirs[1][name] - theirs[0][name]
            hits[name] += low <= theirs[0][name] <= high, change.end(0.025) <= gap <= change.end(0.975)
    return {
        name: (float(one[0]), float(one[1])) for name, found in hits.items() for one in [found / simulations]
    }


def lines(simulations: int) -> Iterator[str]:
    """The table, line by line."""
    yield f"{simulations:,} simulations; coverage of the score, and of the difference of two models"
    yield "| images | " + " | ".join(JUDGES) + " |"
    yield "|---|" + "---|" * len(JUDGES)
    for case in CASES:
        found = coverage(case, simulations)
        cells = [f"{one:.1%}, {change:.1%}" for one, change in found.values()]
        yield f"| {case.name} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=1000)
    for line in lines(parser.parse_args().simulations):
        print(line, flush=True)


if __name__ == "__main__":
    main()
