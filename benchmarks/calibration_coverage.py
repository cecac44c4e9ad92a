"""Coverage of 95 % intervals of calibration errors and AURRA: python benchmarks/calibration_coverage.py

Quantised models and very confident models give few distinct confidences. The intervals are for the score
expected at this number of images, which 1,000 other simulations estimate. They are not for the score of
infinitely many images: few images raise calibration errors.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from worlds import Array

from windtunnel.metrics.aurra import aurra_interval, aurra_values
from windtunnel.metrics.calibration import calibration_interval, ece_values, rms_values
from windtunnel.metrics.confidence import confident_measure
from windtunnel.stats.measure import Measure
from windtunnel.stats.paired import estimate_difference

Make = Callable[[Array, Array], Measure]


def _make(values: Callable[..., Array], interval_of: Callable[[Measure], tuple[float, float]]) -> Make:
    def measure(confidence: Array, right: Array) -> Measure:
        return confident_measure("", "", "", (), confidence, right, values, interval_of)

    return measure


SCORES: dict[str, Make] = {
    "ECE": _make(ece_values, calibration_interval),
    "RMS": _make(rms_values, calibration_interval),
    "AURRA": _make(aurra_values, aurra_interval),
}
# The RMS error of two models on the same images.
DIFFERENCE = "RMS, difference"


@dataclass(frozen=True)
class Case:
    """A kind of model.

    Attributes:
        name: how the table calls it.
        confidences: draws so many confidences.
        accuracy: of a confidence.
        calibrated: whether the accuracy is the confidence.
        images: numbers of images that are simulated.
    """

    name: str
    confidences: Callable[[np.random.Generator, int], Array]
    accuracy: Callable[[Array], Array]
    calibrated: bool = False
    images: tuple[int, ...] = (60, 200, 1000)

    def draw(self, rng: np.random.Generator, n: int, models: int = 1) -> list[tuple[Array, Array]]:
        """Confidences and whether predictions are right, of models that agree on the confidences."""
        confidence = self.confidences(rng, n)[:, None]
        share = self.accuracy(confidence)
        return [(confidence, rng.random((n, 1)) < share) for _ in range(models)]


def _levels(count: int, rng: np.random.Generator, n: int) -> Array:
    return rng.choice(np.linspace(0.95, 0.3, count), n)


def _mostly_one(rng: np.random.Generator, n: int) -> Array:
    return np.where(rng.random(n) < 0.8, 1.0, rng.uniform(0.3, 1, n))


def _overconfident(confidence: Array) -> Array:
    return confidence - 0.15


def _itself(confidence: Array) -> Array:
    return confidence


def _accurate(places: str, accuracy: float, images: int) -> Case:
    """A model with few wrong predictions, independent of confidence or among a fifth of the images."""
    return Case(
        f"{100 * accuracy:g} % right, {places}",
        lambda rng, n: rng.uniform(0.1, 1, n),
        lambda c: 1 - (1 - accuracy) * ERRORS[places](c),
        images=(images,),
    )


# Where the errors of accurate models are: how many times the mean error rate a confidence has.
ERRORS: dict[str, Callable[[Array], Array]] = {
    "errors at any confidence": np.ones_like,
    "errors at low confidence": lambda c: 3 * ((1 - c) / 0.9) ** 2,
    "errors in the least confident fifth": lambda c: 5.0 * (c < 0.28),
    "errors in the most confident fifth": lambda c: 5.0 * (c > 0.82),
}
ACCURATE = tuple(
    _accurate(places, accuracy, images)
    for places in ERRORS
    for images, accuracy in ((60, 0.98), (200, 0.98), (200, 0.99), (500, 0.995), (1000, 0.997))
)
CASES = (
    *(Case(f"{k} distinct", partial(_levels, k), _overconfident) for k in (1, 2, 3, 5, 8, 12)),
    Case("80 % exactly 1, 97 % of them right", _mostly_one, lambda c: np.where(c == 1, 0.97, c**1.5)),
    Case("80 % exactly 1, 90 % of them right", _mostly_one, lambda c: np.where(c == 1, 0.9, c**1.5)),
    Case("all different", lambda rng, n: rng.uniform(0.1, 1, n), lambda c: c**1.5),
    Case("1 distinct, calibrated", partial(_levels, 1), _itself, calibrated=True),
    Case("12 distinct, calibrated", partial(_levels, 12), _itself, calibrated=True),
)


def coverage(
    case: Case, n: int, simulations: int, seed: int = 0, scores: Sequence[str] = (*SCORES, DIFFERENCE)
) -> dict[str, float]:
    """By score, the share of intervals that contain the score expected at n images."""
    other = np.random.default_rng(seed + 1)
    drawn = [case.draw(other, n)[0] for _ in range(1000)]
    makers = {name: make for name, make in SCORES.items() if name in scores}
    expected = {name: np.mean([make(*one).value for one in drawn]) for name, make in makers.items()}
    rng = np.random.default_rng(seed)
    hits = dict.fromkeys(scores, 0)
    for _ in range(simulations):
        one, two = case.draw(rng, n, models=2)
        measures = {name: make(*one) for name, make in makers.items()}
        for name, measure in measures.items():
            low, high = measure.interval()
            hits[name] += bool(low <= expected[name] <= high)
        if DIFFERENCE in scores:
            change = estimate_difference(measures["RMS"], SCORES["RMS"](*two))
            hits[DIFFERENCE] += change.end(0.025) <= 0 <= change.end(0.975)
    return {name: count / simulations for name, count in hits.items()}


def lines(simulations: int, cases: Sequence[Case], scores: Sequence[str]) -> Iterator[str]:
    """A table, line by line."""
    yield f"{simulations:,} simulations"
    yield "| confidences | images | " + " | ".join(scores) + " |"
    yield "|---|---|" + "---|" * len(scores)
    for case in cases:
        for n in case.images:
            shares = coverage(case, n, simulations, scores=scores)
            yield f"| {case.name} | {n:,} | " + " | ".join(f"{share:.1%}" for share in shares.values()) + " |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument(
        "--accurate", action="store_true", help="simulate only AURRA of models with few errors"
    )
    given = parser.parse_args()
    tables = [] if given.accurate else [(CASES, (*SCORES, DIFFERENCE))]
    for cases, scores in [*tables, (ACCURATE, ("AURRA",))]:
        for line in lines(given.simulations, cases, scores):
            print(line, flush=True)


if __name__ == "__main__":
    main()
