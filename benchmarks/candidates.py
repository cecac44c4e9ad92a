"""Syn2Nat's candidates against albumentations 2.0.8: equality first, then ratios.

Our pixels are compared with the published definitions (tests/parity's oracles); no ratio is printed where
they differ. Where albumentations still has the operation and its parameters can be fixed, the largest
difference of its pixels from that definition is printed. Then both are timed on the same 224x224 images in
one process with one thread, several rounds. For each image both have three turns in random order, of four
calls with four draws, the same in all turns; the turn with the least CPU time counts. Means over images are
compared: cost depends on the draws, so that a median would compare single draws.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"
sys.path.insert(0, str(Path(__file__).parents[1]))

import cv2  # noqa: E402
import numpy as np  # noqa: E402
from benchmarks.candidate_peers import OTHER, PEERS, PINNED  # noqa: E402
from tests.parity.candidate_oracles import ORACLES, Recorder  # noqa: E402
from tests.parity.compare import photograph  # noqa: E402

import windtunnel  # noqa: E402
from windtunnel.corruptions import REGISTRY  # noqa: E402

SIDE = 224
# No candidate may be slower than the peer.
FLOOR = 1.0
CALLS, TURNS = 4, 3
# The share of values that may differ by one level: elastic_transform sums its field in another order.
SHARE_DIFFERING = 1e-3


def differs_from_definition(name: str) -> str:
    """ "" where our pixels are the published definition's for the same draws, else what is wrong."""
    if name not in ORACLES:
        return ""  # noise: tests/parity compares distributions
    for number in range(3):
        image = photograph(SIDE, number)
        rng = Recorder(0, str(number), f"corruption/s2n/{name}", 0)
        ours = REGISTRY.get(f"s2n/{name}").apply(image, rng, 0, SIDE)
        difference = np.abs(ours.astype(int) - ORACLES[name](image, rng.recorded()))
        if difference.max() > 1 or (difference > 0).mean() > SHARE_DIFFERING:
            return f"differs from the definition by up to {difference.max()}"
    return ""


def peer_difference(name: str) -> str:
    """How far the peer is from the definition at the same parameters, in grey levels."""
    if name not in PINNED:
        return OTHER.get(name, "parameters cannot be fixed")
    peer, drawn = PINNED[name]
    image = photograph(SIDE, 0)
    difference = np.abs(peer(image=image)["image"].astype(int) - ORACLES[name](image, drawn))
    if not difference.any():
        return "the same pixels"
    return f"up to {difference.max()} levels, mean {difference.mean():.3f}"


def measure(name: str, images: list[np.ndarray], rng: random.Random) -> tuple[float, float]:
    """Mean CPU seconds of one call of peer and ours, over the same images."""
    peer, unit = PEERS[name], f"s2n/{name}"
    calls: list[Callable[[np.ndarray, str], object]] = [
        lambda image, _sample: peer(image=image)["image"],
        lambda image, sample: windtunnel.corrupt(image, unit, seed=0, sample_id=sample),
    ]
    for call in calls:
        call(images[0], "warm-up")
    totals = [0, 0]
    for image in images:
        seed, least = rng.getrandbits(31), [sys.maxsize, sys.maxsize]
        samples = [f"{seed} {number}" for number in range(CALLS)]
        for which in rng.sample((0, 1) * TURNS, 2 * TURNS):
            call = calls[which]
            peer.set_random_seed(seed)
            start = time.process_time_ns()
            for sample in samples:
                call(image, sample)
            least[which] = min(least[which], time.process_time_ns() - start)
        totals = [total + nanoseconds for total, nanoseconds in zip(totals, least, strict=True)]
    return totals[0] / 1e9 / len(images) / CALLS, totals[1] / 1e9 / len(images) / CALLS


def main() -> None:
    """Check, time, print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--images", type=int, default=40)
    options.add_argument("--only", nargs="*", default=sorted(PEERS))
    given = options.parse_args()
    cv2.setNumThreads(1)
    images, rng = [photograph(SIDE, seed) for seed in range(given.images)], random.Random(0)
    refused = {name: why for name in given.only if (why := differs_from_definition(name))}
    rounds = []
    for _ in range(given.rounds):
        order = rng.sample(given.only, len(given.only))
        rounds.append({name: measure(name, images, rng) for name in order})
    print(f"{'candidate':<22}{'peer ms':>9}{'ours ms':>9}{'ratio':>21}  albumentations 2.0.8")
    ratios = []
    for name in given.only:
        if name in refused:
            print(f"{name:<22}  no ratio: {refused[name]}")
            continue
        each = [peer / ours for peer, ours in (one[name] for one in rounds)]
        peer, ours = (1000 * statistics.median(one[name][which] for one in rounds) for which in (0, 1))
        ratio = statistics.median(each)
        ratios.append(ratio)
        spread = f"{ratio:.2f} [{min(each):.2f}-{max(each):.2f}]"
        slow = "   SLOWER" if ratio < FLOOR else ""
        print(f"{name:<22}{peer:>9.3f}{ours:>9.3f}{spread:>21}  {peer_difference(name)}{slow}")
    print(f"geometric mean over {len(ratios)}: {float(np.exp(np.mean(np.log(ratios)))):.2f}")
    print(f"below {FLOOR:.0f}x: {sum(ratio < FLOOR for ratio in ratios)}")


if __name__ == "__main__":
    main()
