"""How often 95 % intervals of AP and its paired difference hold the truth: python benchmarks/ap_coverage.py

Two detectors see the same images of a large population: each finds objects with a probability that depends on
the image, places boxes with an error, and adds boxes at random. The truth is their AP on the population, or
the mean AP of as many images: AP of few images is biased upwards, because precision is the largest one at any
higher recall.
"""

from __future__ import annotations

import argparse

import numpy as np

from windtunnel.metrics.detections.matches import FoundBoxes, Matches, TrueBoxes, match
from windtunnel.stats.measure import Measure
from windtunnel.stats.paired import paired_difference

CATEGORIES, OBJECTS, WRONG = 5, 4, 6
POPULATION = 20_000
SKILLS = (0.6, 0.5)


def population(rng: np.random.Generator) -> list[Matches]:
    """The matches of both detectors on the population."""
    image = np.repeat(np.arange(POPULATION), rng.poisson(OBJECTS, POPULATION))
    category = rng.integers(0, CATEGORIES, len(image))
    box = rng.uniform(0, 400, (len(image), 4))
    box[:, 2:] = box[:, :2] + rng.uniform(30, 120, (len(image), 2))
    true = TrueBoxes(image, category, box, np.zeros(len(image), bool))
    ease = rng.normal(0, 0.15, POPULATION)[image] + rng.normal(0, 0.1, len(image))
    luck = rng.random(len(image))
    detectors = []
    for skill in SKILLS:
        hit = np.flatnonzero(luck < skill + ease)
        near = box[hit] + rng.normal(0, 5, (len(hit), 4))
        other = np.sort(rng.integers(0, POPULATION, WRONG * POPULATION))
        far = rng.uniform(0, 400, (len(other), 4))
        far[:, 2:] = far[:, :2] + rng.uniform(30, 120, (len(other), 2))
        score = np.concatenate([rng.beta(4, 3, len(hit)), rng.beta(2, 5, len(other))]).astype(np.float32)
        found = FoundBoxes(
            np.concatenate([image[hit], other]),
            np.concatenate([category[hit], rng.integers(0, CATEGORIES, len(other))]),
            np.concatenate([near, far]),
            score,
        )
        order = np.lexsort((-found.score, found.image))
        found = FoundBoxes(**{name: values[order] for name, values in vars(found).items()})
        detectors.append(match(found, true, POPULATION))
    return detectors


def sampled(matches: Matches, first: int, images: int) -> Measure:
    """AP of some images that follow each other in the population."""
    found, true = (
        type(boxes)(
            **{name: values[_inside(boxes.image, first, images)] for name, values in vars(boxes).items()}
        )
        for boxes in (matches.found, matches.true)
    )
    outcome = matches.outcome[_inside(matches.found.image, first, images)]
    part = Matches(images, found, outcome, true)
    found.image[:] -= first
    true.image[:] -= first
    return Measure(
        "ap",
        "clean",
        "",
        ("clean",),
        part.per_image,
        of_weights=lambda weights: part.precisions(weights).mean(axis=1),
        limits=(0.0, 1.0),
    )


def _inside(image: np.ndarray, first: int, images: int) -> np.ndarray:
    return np.flatnonzero((image >= first) & (image < first + images))


def main() -> None:
    """Print the share of intervals that hold the truth, by number of images."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=200)
    options = parser.parse_args()
    detectors = population(np.random.default_rng(0))
    truths = [float(matches.precisions(np.ones((1, POPULATION))).mean()) for matches in detectors]
    print(f"AP {100 * truths[0]:.1f} % and {100 * truths[1]:.1f} %; {options.samples} samples")
    print("| images | mean AP | holds the mean | holds the population's | holds the difference |")
    print("|---|---|---|---|---|")
    for images in (25, 50, 100):
        values, ends, differences = [], [], []
        for sample in range(options.samples):
            first = sample * images % (POPULATION - images)
            old, new = (sampled(matches, first, images) for matches in detectors)
            values.append(old.value)
            ends.append(old.interval())
            change = paired_difference(old, new)
            differences.append((change.low, change.high))
        mean = float(np.mean(values))
        shares = [
            held(ends, mean),
            held(ends, truths[0]),
            held(differences, truths[1] - truths[0]),
        ]
        cells = [f"{images}", f"{100 * mean:.1f} %", *(f"{100 * share:.1f} %" for share in shares)]
        print(f"| {' | '.join(cells)} |")


def held(intervals: list[tuple[float, float]], truth: float) -> float:
    """The share of intervals that hold a value."""
    return float(np.mean([low <= truth <= high for low, high in intervals]))


if __name__ == "__main__":
    main()
