"""Corruptions against the peer that is installed: equality first, then ratios. `make bench` runs it twice,
once with imagecorruptions 1.1.2 and once with its maintained fork imagecorruptions-imaug 1.1.5.

Every corruption is timed in a fresh process (and once more with all in one process): each image goes
once through either implementation in random order, one thread, severities 1, 3 and 5, several rounds. Times
are CPU times.
No ratio is printed where our pixels are not the reference's (tests/parity's oracles and tolerances).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"
sys.path.insert(0, str(Path(__file__).parents[1]))

import cv2  # noqa: E402
import numpy as np  # noqa: E402
from benchmarks.peer import NAMES, ORIGINAL, compiled_glass_blur, installed, load  # noqa: E402
from tests.parity import compare  # noqa: E402
from tests.parity.reference import PARAMETERS  # noqa: E402

import windtunnel  # noqa: E402

SEVERITIES = (1, 3, 5)
# The original's glass blur is a Python loop of seconds; the fork's is compiled.
SLOW = "glass_blur" if installed()[0] == ORIGINAL else ""
SIDE = 224
# Targets of docs/explanation/decisions/0022-performance-targets.md.
FLOORS = {"pixelate": 1.3, "jpeg_compression": 1.3}
FLOOR = 3.0

Row = dict[str, list[float]]


def make_images(count: int) -> list[np.ndarray]:
    """Photograph-like images: smooth shapes, edges, grain."""
    return [compare.photograph(SIDE, seed) for seed in range(count)]


def equal_to_reference(name: str) -> str:
    """ "" where our pixels are the reference's, else what is wrong."""
    if name in compare.NOISES:
        for severity in SEVERITIES:
            (parameter,) = PARAMETERS[SIDE, name, severity]
            p = compare.noise_p_value(name, parameter, compare.unit_noise(name, parameter))
            if p < compare.ALPHA:
                return f"distribution differs at severity {severity} (p = {p:.1e})"
        return ""
    for severity in SEVERITIES:
        for image in make_images(2):
            ours = compare.run_unit(name, image, severity, SIDE)
            if compare.caught(ours, compare.run_oracle(name, image, severity, SIDE)):
                return f"differs from the oracle at severity {severity}"
    return ""


def timed(call: Callable[[], object]) -> float:
    """CPU seconds of one call: other programs on the machine stretch the wall time of long calls most."""
    start = time.process_time()
    call()
    return time.process_time() - start


def measure(name: str, count: int, seed: int) -> Row:
    """Median seconds per severity of peer, compiled glass peer and ours."""
    cv2.setNumThreads(1)
    theirs, images, rng = load(), make_images(count), random.Random(seed)
    row: Row = {"peer": [], "compiled": [], "ours": []}
    for severity in SEVERITIES:
        calls: dict[str, Callable[[np.ndarray, int], object]] = {
            "peer": lambda image, _n, s=severity: theirs(image, name, s),
            "ours": lambda image, n, s=severity: windtunnel.corrupt(image, name, s, seed=0, sample_id=str(n)),
        }
        if name == SLOW:
            calls["compiled"] = lambda image, _n, s=severity: compiled_glass_blur(image, s)
        for kind, call in calls.items():
            if not (name == SLOW and kind == "peer"):
                call(images[0], -1)
        seconds: dict[str, list[float]] = {kind: [] for kind in calls}
        for number, image in enumerate(images):
            kinds = [kind for kind in calls if not (name == SLOW and kind == "peer" and number >= 2)]
            rng.shuffle(kinds)
            for kind in kinds:
                seconds[kind].append(timed(partial(calls[kind], image, number)))
        for kind in row:
            row[kind].append(statistics.median(seconds[kind]) if seconds.get(kind) else float("nan"))
    return row


def in_fresh_process(name: str, count: int, seed: int) -> Row:
    """`measure` in a process of its own."""
    command = [sys.executable, __file__, "--worker", name, "--images", str(count), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def geometric_mean(values: Iterable[float]) -> float:
    """exp of the mean logarithm."""
    return float(np.exp(np.mean(np.log(list(values)))))


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):.1f} [{min(values):.1f}-{max(values):.1f}]"


def table(title: str, rounds: list[dict[str, Row]], refused: dict[str, str]) -> None:
    """Print ratios: median over rounds and their spread, per severity and together."""
    print(f"\n{title}")
    print(
        f"{'corruption':<20}{'peer ms':>9}{'ours ms':>9}"
        + "".join(f"{f's{s}':>20}" for s in SEVERITIES)
        + f"{'geo':>8}"
    )
    for name in NAMES:
        if name in refused:
            print(f"{name:<20}  no ratio: {refused[name]}")
            continue
        ratios = np.array([np.array(r[name]["peer"]) / np.array(r[name]["ours"]) for r in rounds])
        cells = "".join(f"{np.median(c):9.1f} [{c.min():.1f}-{c.max():.1f}]".rjust(20) for c in ratios.T)
        peer, ours = (1000 * statistics.median(r[name][kind][1] for r in rounds) for kind in ("peer", "ours"))
        together = geometric_mean(np.median(ratios, axis=0))
        short = "" if together >= FLOORS.get(name, FLOOR) else f"   below {FLOORS.get(name, FLOOR)}"
        print(f"{name:<20}{peer:>9.2f}{ours:>9.3f}{cells}{together:>8.1f}{short}")
    if refused:
        print("no geometric mean: not every corruption is equal")
        return
    compiled = [("glass blur compiled as in the development branch", "compiled")] if SLOW else []
    for label, kind in [(" ".join(installed()), "peer"), *compiled]:
        means = []
        for r in rounds:
            per_cell = []
            for name in NAMES:
                base = r[name][kind] if name == SLOW else r[name]["peer"]
                per_cell += [b / o for b, o in zip(base, r[name]["ours"], strict=True)]
            means.append(geometric_mean(per_cell))
        print(f"geometric mean over 19, {label}: {_spread(means)}")


def main() -> None:
    """Check, time, print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--images", type=int, default=12)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--worker", metavar="NAME", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.worker:
        print(json.dumps(measure(given.worker, given.images, given.seed)))
        return
    refused = {name: why for name in NAMES if (why := equal_to_reference(name))}
    print(f"peer: {' '.join(installed())}")
    print(f"equal to the reference: {len(NAMES) - len(refused)} of {len(NAMES)}")
    fresh: list[dict[str, Row]] = []
    for number in range(given.rounds):
        order = random.Random(given.seed + number).sample(NAMES, len(NAMES))
        fresh.append({name: in_fresh_process(name, given.images, given.seed + number) for name in order})
    table(f"fresh process per corruption, {given.rounds} rounds, {given.images} images", fresh, refused)
    long = []
    for number in range(given.rounds):
        order = random.Random(given.seed + number).sample(NAMES, len(NAMES))
        long.append({name: measure(name, given.images, given.seed + number) for name in order})
    table(f"one long process, {given.rounds} rounds, {given.images} images", long, refused)


if __name__ == "__main__":
    main()
