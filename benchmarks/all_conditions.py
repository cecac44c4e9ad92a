"""All 75 conditions of an image: time, memory, first start, two processes.

python benchmarks/all_conditions.py

Every figure is taken in a fresh process, as a worker is one.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"
sys.path.insert(0, str(Path(__file__).parents[1]))

import cv2  # noqa: E402
import numpy as np  # noqa: E402
from tests.parity import compare  # noqa: E402

import windtunnel  # noqa: E402
from windtunnel.imaging.codecs import round_trip  # noqa: E402
from windtunnel.metrics.corruption_error import THE_FIFTEEN  # noqa: E402

SIDE_PX = 224
CODECS = ("none", "jpeg:85")


def make_images(count: int) -> list[np.ndarray]:
    """Photograph-like images: smooth shapes, edges, grain."""
    return [compare.photograph(SIDE_PX, seed) for seed in range(count)]


def make_conditions(image: np.ndarray, sample_id: str, codec: str) -> None:
    """Fifteen corruptions at five severities, each through the codec."""
    for name in THE_FIFTEEN:
        for severity in range(1, 6):
            round_trip(windtunnel.corrupt(image, name, severity, seed=0, sample_id=sample_id), codec)


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def times(count: int) -> None:
    """Milliseconds for the conditions of one image, the codecs in turn; the first image warms up."""
    found: dict[str, list[float]] = {codec: [] for codec in CODECS}
    for number, image in enumerate(make_images(count + 1)):
        for codec in CODECS:
            taken = seconds(
                lambda image=image, id_=str(number), codec=codec: make_conditions(image, id_, codec)
            )
            if number:
                found[codec].append(1000 * taken)
    for codec, each in found.items():
        print(f"75 conditions of one image, {codec:8}{statistics.median(each):6.1f} ms "
              f"[{min(each):.1f}-{max(each):.1f}]")  # fmt: skip


def memory() -> None:
    """The most memory this process has taken to make one image's conditions."""
    make_conditions(make_images(1)[0], "0", "none")
    # Not getrusage: a child starts with what its parent took.
    status = Path("/proc/self/status").read_text()
    most_kib = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    print(f"most memory of a process that makes them: {int(most_kib) // 1024} MiB")


def load(count: int) -> None:
    """The conditions of some images."""
    for number, image in enumerate(make_images(count)):
        make_conditions(image, str(number), "none")


def starts() -> None:
    """Seconds until every corruption has run once, with and without a cache of compiled code."""
    command = [sys.executable, "-m", "windtunnel", "warmup"]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        for label in ("cold", "warm"):
            taken = seconds(lambda: subprocess.run(command, env=environment, check=True, capture_output=True))
            print(f"{label} start, all corruptions once: {taken:.1f} s")


def two_processes(count: int) -> None:
    """How much more two processes do than one."""
    command = [sys.executable, __file__, "--load", str(count)]
    alone = seconds(lambda: subprocess.run(command, check=True))
    start = time.perf_counter()
    for process in [subprocess.Popen(command) for _ in range(2)]:
        process.wait()
    print(f"two processes do {2 * alone / (time.perf_counter() - start):.2f} times the work of one")


def main() -> None:
    """Start a process for each figure; a process that was given one takes it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--images", type=int, default=12)
    options.add_argument("--load", type=int, help=argparse.SUPPRESS)
    options.add_argument("--times", type=int, help=argparse.SUPPRESS)
    options.add_argument("--memory", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    cv2.setNumThreads(1)
    if given.load:
        load(given.load)
    elif given.times:
        times(given.times)
    elif given.memory:
        memory()
    else:
        for _ in range(given.rounds):
            subprocess.run([sys.executable, __file__, "--times", str(given.images)], check=True)
        subprocess.run([sys.executable, __file__, "--memory"], check=True)
        starts()
        two_processes(8)


if __name__ == "__main__":
    main()
