"""Kill a run at many moments, then finish it: python benchmarks/kills.py [--kills 10] [--workers 1 2]

The finished run must have the bytes of one that was never killed. Kills fall at random: in the first two
seconds, or up to 20 ms after one to three more shards are stored. tests/e2e/test_runs.py kills at three
chosen moments.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

# A moment is something to wait for, given the run folder as it was at the start, and seconds after that.
Moment = tuple[Callable[[Path], Callable[[], bool]], float]


def at_once(_run: Path) -> Callable[[], bool]:
    """As soon as the process has started."""
    return lambda: True


def recipe_stored(run: Path) -> Callable[[], bool]:
    """The run folder has its recipe."""
    return (run / "run.json").exists


def more_shards(count: int) -> Callable[[Path], Callable[[], bool]]:
    """That many more shards are stored."""

    def begin(run: Path) -> Callable[[], bool]:
        awaited = len(shards(run)) + count
        return lambda: len(shards(run)) >= awaited

    return begin


def shards(run: Path) -> dict[str, int]:
    """The shards stored, and when each was written."""
    return {path.name: path.stat().st_mtime_ns for path in (run / "shards").glob("*.parquet")}


def command(run: Path, workers: int, images: int) -> list[str]:
    """Start or continue the demo's run in shards of 12 images."""
    options = ["--suite", "demo", "--subset", images, "--chunk", 12, "--workers", workers, "--out", run]
    return [sys.executable, "-m", "windtunnel", "run", "demo", "demo", *map(str, options)]


def killed_and_finished(
    root: Path, workers: int, moments: Iterable[Moment], images: int
) -> tuple[Path, Path]:
    """A run killed at each of the moments and then finished, and one in a single process, never killed."""
    calm, rough = root / "calm", root / "rough"
    subprocess.run(command(calm, 1, images), check=True, capture_output=True)
    for wait_for, delay_s in moments:
        before = shards(rough)
        reached = wait_for(rough)
        process = subprocess.Popen(
            command(rough, workers, images),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        while process.poll() is None and not reached():
            time.sleep(0.005)
        time.sleep(delay_s)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "the run ended before it was killed"
        assert before.items() <= shards(rough).items(), "stored shards were lost or written again"
    before = shards(rough)
    assert 0 < len(before) < len(shards(calm)), "the kills left nothing to resume, or nothing to do"
    subprocess.run(command(rough, workers, images), check=True, capture_output=True)
    assert before.items() <= shards(rough).items(), "stored shards were lost or written again"
    return rough, calm


def stored_bytes(run: Path) -> dict[str, bytes]:
    """Every file among the shards, and the table of images."""
    files = [run / "samples.parquet", *sorted((run / "shards").iterdir())]
    return {path.name: path.read_bytes() for path in files}


def random_moments(count: int, seed: int) -> list[Moment]:
    """Kills before anything more is stored, and up to 20 ms after one to three more shards are."""
    rng = random.Random(seed)
    moments: list[Moment] = []
    for _ in range(count):
        more = rng.randint(0, 3)
        delay_s = rng.uniform(0, 0.02 if more else 2.0)
        moments.append((more_shards(more) if more else at_once, delay_s))
    return moments


def main() -> None:
    """Print one line for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    for workers in options.workers:
        with tempfile.TemporaryDirectory() as folder:
            moments = random_moments(options.kills, workers)
            rough, calm = killed_and_finished(Path(folder), workers, moments, images=599)
            same = stored_bytes(rough) == stored_bytes(calm)
        print(f"{workers} workers, {options.kills} kills: {'the same bytes' if same else 'OTHER BYTES'}")
        if not same:
            sys.exit(1)


if __name__ == "__main__":
    main()
