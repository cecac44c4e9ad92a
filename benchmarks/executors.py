"""Time processes and Ray on the same cores: python benchmarks/executors.py [--rounds 5] [--workers 2]

Runs alternate, so that a busy machine slows both. Work is the time from the first shards, one per worker, to
the last one. Start and stop are the rest: loading the model, and for Ray the cluster on this machine. The
time per item without work is measured apart, because it is steadier on a busy machine.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

import windtunnel
from windtunnel.engine.executors import REGISTRY
from windtunnel.engine.jobs import Advance, Needs

EXECUTORS = ("processes", "ray")
# Items without work, each with a result of the size of a usual shard.
EMPTY_ITEMS = 400
RESULT_BYTES = 150_000


@dataclass(frozen=True)
class Empty:
    """An item without work."""

    name: str
    description: str = "nothing"


class Nothing:
    """The job of items without work."""

    needs = Needs()

    def begin(self) -> Callable[[Empty, Advance], bytes]:
        """Return what is done with an item: its result is made."""
        return lambda _item, _advance: bytes(RESULT_BYTES)


def per_empty_item(executor: str, workers: int) -> float:
    """Seconds per item that has no work, once all workers are ready."""
    items = [Empty(str(number)) for number in range(EMPTY_ITEMS)]
    done = [
        time.perf_counter()
        for _ in REGISTRY.get(executor).work(Nothing(), items, workers, lambda _done, _failed: None, None)
    ]
    first = len(done) // 4
    return (done[-1] - done[first]) / (len(done) - 1 - first)


def timed(executor: str, workers: int, chunk: int) -> tuple[float, float, dict[str, bytes]]:
    """Seconds of work per shard, seconds of start and stop, and the shards of one run of the demo."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.time()
        run = windtunnel.run(
            "demo", "demo", "imagenet-c-quick", chunk=chunk, workers=workers, executor=executor, out=folder
        )
        seconds = time.time() - begun
        shards = sorted((run.path / "shards").iterdir(), key=lambda shard: shard.stat().st_mtime_ns)
        written = [shard.stat().st_mtime for shard in shards]
        work = written[-1] - written[workers - 1]
        contents = {shard.name: shard.read_bytes() for shard in shards}
    return work / (len(written) - workers), seconds - work, contents


def main() -> None:
    """Print the seconds of both executors, and their ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--chunk", type=int, default=10, help="images per shard, of 599")
    given = parser.parse_args()
    work: dict[str, list[float]] = {name: [] for name in EXECUTORS}
    rest: dict[str, list[float]] = {name: [] for name in EXECUTORS}
    for number in range(given.rounds):
        stored = []
        for name in EXECUTORS if number % 2 == 0 else reversed(EXECUTORS):
            per_shard, around, shards = timed(name, given.workers, given.chunk)
            work[name].append(per_shard)
            rest[name].append(around)
            stored.append(shards)
        assert stored[0] == stored[1], "the shards differ"
        print(
            f"round {number + 1}: ray / processes {work['ray'][-1] / work['processes'][-1]:.3f}", flush=True
        )
    for name in EXECUTORS:
        empty = statistics.median(per_empty_item(name, given.workers) for _ in range(3))
        print(f"{name:10} {1000 * empty:.2f} ms per item without work")
    for name in EXECUTORS:
        per_shard, around = statistics.median(work[name]), statistics.median(rest[name])
        print(f"{name:10} {per_shard:.3f} s of work per shard, {around:.1f} s of start and stop")
    ratios = [ray / local for ray, local in zip(work["ray"], work["processes"], strict=True)]
    print(f"ray / processes, work alone: median {statistics.median(ratios):.3f}, range {min(ratios):.3f} to "
          f"{max(ratios):.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
