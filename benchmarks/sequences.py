"""Perturbation sequences of edition 224: equality first, then milliseconds of CPU time for 31 frames.

Run by `make bench`, or as `python benchmarks/sequences.py`, with `--rounds` for more repeats. One thread,
whose own time is taken, so that other work on the machine hardly shows. Every round takes all sequences in
random order; the minimum and the median over the rounds are shown. Sequences that act before the crop get a
341x256 image and make its middle 224x224.
No time is printed where our frames are not the reference's (tests/parity's oracles and tolerances).
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import sys
import time
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"
sys.path.insert(0, str(Path(__file__).parents[1]))

import cv2  # noqa: E402
import numpy as np  # noqa: E402
from tests.parity import compare, sequence_compare  # noqa: E402
from tests.parity.sequence_reference import NAMES, TABLES  # noqa: E402

from windtunnel.imaging.geometry import Geometry, kept_window  # noqa: E402
from windtunnel.kernels.window import Window  # noqa: E402
from windtunnel.sequences import REGISTRY  # noqa: E402

EDITION, FRAMES = 224, 31
# Targets of docs/explanation/decisions/0022-performance-targets.md, and the most any one may take.
MEAN_MS, MOST_MS = 15.0, 20.0


def make_image(name: str, seed: int) -> tuple[np.ndarray, Window]:
    """A photograph-like image at the stage the sequence acts, and the window that is kept."""
    stage = REGISTRY.get(name).table(EDITION).stage
    height, width = (256, 341) if stage == "resized" else (EDITION, EDITION)
    image = sequence_compare.wide_photograph(height, width, seed)
    return image, kept_window(image, stage, Geometry())


def equal_to_reference(name: str) -> str:
    """ "" where our frames are the reference's, else what is wrong."""
    if name in sequence_compare.NOISES:
        unit = REGISTRY.get(name)
        for difficulty in unit.difficulties:
            (parameter,) = TABLES[EDITION, name, difficulty].parameters
            given = unit.parameters(difficulty, EDITION)
            rng = unit.draws(7, "chi", difficulty)
            p = compare.noise_p_value(
                name, parameter, lambda image, r=rng, g=given: list(unit.function(image, r, 2, **g))[1]
            )
            if p < compare.ALPHA:
                return f"distribution differs at difficulty {difficulty} (p = {p:.1e})"
        return ""
    image, window = make_image(name, 0)
    found = sequence_compare.differing_frame(name, image, EDITION, window)
    return f"frame {found[0]} differs from the oracle: {found[1]}" if found else ""


def milliseconds(name: str, seed: int) -> float:
    """Of 31 frames of one image."""
    unit = REGISTRY.get(name)
    image, window = make_image(name, seed)
    rng = unit.draws(0, str(seed), 1)
    start = time.process_time()
    for _ in unit.apply(image, rng, 1, EDITION, window):
        pass
    return 1000 * (time.process_time() - start) * FRAMES / unit.table(EDITION).frames


def line(what: str, least: float, middle: float, limit: float) -> str:
    """One line of the table."""
    return f"{what:<20}{least:>9.2f}{middle:>9.2f}" + (f"   above {limit:g}" if least > limit else "")


def main() -> None:
    """Check, time, print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--only", nargs="*", default=list(NAMES), choices=NAMES, metavar="NAME")
    given = options.parse_args()
    cv2.setNumThreads(1)
    refused = {name: why for name in given.only if (why := equal_to_reference(name))}
    print(f"equal to the reference: {len(given.only) - len(refused)} of {len(given.only)}")
    timed = [name for name in given.only if name not in refused]
    seconds: dict[str, list[float]] = {name: [] for name in timed}
    for number in range(given.rounds + 1):
        for name in random.Random(number).sample(timed, len(timed)):
            spent = milliseconds(name, number)
            if number:  # the first round compiles and makes tables
                seconds[name].append(spent)
    print(f"{'ms for 31 frames':<20}{'minimum':>9}{'median':>9}")
    for name in given.only:
        if name in refused:
            print(f"{name:<20}  no time: {refused[name]}")
        else:
            print(line(name, min(seconds[name]), statistics.median(seconds[name]), MOST_MS))
    if refused:
        print("no mean: not every sequence is equal")
    else:
        means = [statistics.fmean(map(take, seconds.values())) for take in (min, statistics.median)]
        print(line("mean", *means, MEAN_MS))
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")


if __name__ == "__main__":
    main()
