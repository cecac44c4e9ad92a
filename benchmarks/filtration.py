"""Time and memory of adversarial filtration on random predictions: 100,000 candidates, 2 models, 10 crops."""

import resource
import time

import numpy as np

from windtunnel.curate.filtration import CropPredictions, filter_candidates

CANDIDATES, MODELS, CROPS, CLASSES = 100_000, 2, 10, 200


def main() -> None:
    """Print the funnel, the seconds and the largest memory of the process."""
    rng = np.random.Generator(np.random.Philox(0))
    shape = CANDIDATES, MODELS, CROPS
    labels = rng.integers(0, CLASSES, CANDIDATES)
    # One wrong class for most crops of a candidate, so that confusions are frequent.
    wrong = (labels + rng.integers(1, 4, CANDIDATES)) % CLASSES
    predicted = np.where(rng.random(shape) < 0.97, wrong[:, None, None], labels[:, None, None])
    confidence = rng.random(shape, np.float32)
    true_confidence = 0.16 * rng.random(shape, np.float32)
    ids = [f"{number:032x}" for number in rng.permutation(CANDIDATES)]
    before = time.perf_counter()
    result = filter_candidates(ids, labels, CropPredictions(predicted, confidence, true_confidence))
    seconds = time.perf_counter() - before
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{result.funnel()}   {seconds:.2f} s, process at most {largest:.2f} GB")


if __name__ == "__main__":
    main()
