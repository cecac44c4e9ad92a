"""How often 95 % intervals hold the truth where images come in groups: python benchmarks/group_coverage.py

Images of one group (a patient, a video) share most of their difficulty. Intervals that draw whole groups
are set beside those that take every image for independent.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from worlds import Array, answers

from windtunnel.metrics.baseline import PairedValues, ratio
from windtunnel.stats.measure import Measure
from windtunnel.stats.paired import estimate_difference

LEVELS = 5
# Clean, then three corruptions at five severities, of a model and of another one.
MODEL = np.concatenate([[0.2], np.tile([0.25, 0.3, 0.35, 0.4, 0.5], 3)])
UNITS = ("clean", *np.repeat(["a", "b", "c"], LEVELS))
OTHER = np.concatenate([[0.25], np.tile([0.3, 0.36, 0.42, 0.5, 0.6], 3)])
WITHIN, BETWEEN, KINSHIP = 0.85, 0.85, 0.8


@dataclass(frozen=True)
class Case:
    """How images are grouped: so many groups, of sizes drawn evenly between two numbers."""

    name: str
    groups: int
    least: int
    most: int

    def draw(self, rng: np.random.Generator) -> Array:
        """A number of its group for every image."""
        return np.repeat(np.arange(self.groups), rng.integers(self.least, self.most + 1, self.groups))


CASES = (
    Case("30 groups of 10", 30, 10, 10),
    Case("100 groups of 5", 100, 5, 5),
    Case("100 groups of 1 to 15", 100, 1, 15),
    Case("400 groups of 1 to 4", 400, 1, 4),
)


def measures(wrong: Array, other: Array, groups: Array | None) -> dict[str, Measure]:
    """Scores of every kind of interval."""
    corrupted = len(MODEL) - 1
    even = np.full(corrupted, 1 / corrupted)
    found = {
        "one condition": Measure("", "", "", (), wrong[:, [1]]),
        "mean error": Measure("", "", "", (), wrong[:, 1:], even),
        "mean residual": Measure("", "", "", (), wrong, np.concatenate([[-1.0], even])),
        "a sum of numbers": Measure("", "", "", (), wrong[:, 1:].astype(float), even),
        "against a stored run": against(wrong, other),
    }
    return {name: replace(one, groups=groups) for name, one in found.items()}


def against(wrong: Array, other: Array) -> Measure:
    """Mean CE of a model by another one."""
    found = PairedValues("the other", UNITS, UNITS, wrong.astype(float), other.astype(float), None)
    return ratio(found, "mean_ce", "", ("a", "b", "c"))


def truths() -> dict[str, float]:
    """The same scores of endlessly many images."""
    mean = float(MODEL[1:].mean())
    return {
        "one condition": float(MODEL[1]),
        "mean error": mean,
        "mean residual": mean - float(MODEL[0]),
        "a sum of numbers": mean,
        "against a stored run": against(MODEL[None], OTHER[None]).value,
        "difference of two models": float(OTHER[1:].mean()) - mean,
    }


def coverage(case: Case, simulations: int, seed: int = 0, *, grouped: bool = True) -> dict[str, float]:
    """By score, the share of intervals that hold the truth."""
    rng = np.random.default_rng(seed)
    hits = dict.fromkeys(truths(), 0)
    for _ in range(simulations):
        groups = case.draw(rng)
        wrong, other = answers(
            rng, len(groups), [MODEL, OTHER], within=WITHIN, kinship=KINSHIP, groups=groups, between=BETWEEN
        )
        known = groups if grouped else None
        found = measures(wrong, other, known)
        intervals = {name: one.interval() for name, one in found.items()}
        change = estimate_difference(found["mean error"], measures(other, wrong, known)["mean error"])
        intervals["difference of two models"] = change.end(0.025), change.end(0.975)
        for name, (low, high) in intervals.items():
            hits[name] += low <= truths()[name] <= high
    return {name: count / simulations for name, count in hits.items()}


def correlation(seed: int = 0) -> float:
    """Between the answers to two images of one group under one condition."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(20_000), 2)
    wrong, _ = answers(
        rng, len(groups), [MODEL, OTHER], within=WITHIN, kinship=KINSHIP, groups=groups, between=BETWEEN
    )
    return float(np.corrcoef(wrong[::2, 1], wrong[1::2, 1])[0, 1])


def lines(simulations: int) -> Iterator[str]:
    """The table, line by line."""
    yield f"{simulations:,} simulations, correlation within a group {correlation():.2f}"
    yield "| images | " + " | ".join(truths()) + " |"
    yield "|---|" + "---|" * len(truths())
    for case in CASES:
        for grouped in (True, False):
            found = coverage(case, simulations, grouped=grouped)
            name = case.name + ("" if grouped else ", taken for independent")
            yield f"| {name} | " + " | ".join(f"{share:.1%}" for share in found.values()) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2000)
    for line in lines(parser.parse_args().simulations):
        print(line, flush=True)


if __name__ == "__main__":
    main()
