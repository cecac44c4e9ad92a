"""What a second model adds to a run: python benchmarks/several_models.py

A run with one model, a run with two, and bare inference on as many images are timed in turn, in one process
and one thread. The second model should cost its inference and nothing else.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from end_to_end import write_images, write_network

import windtunnel


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    """Time in turn and print what the second model adds, as a multiple of its inference."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--suite", default="imagenet-c")
    options.add_argument("--images", type=int, default=8)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--width", type=int, default=48)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        paths = [write_network(root / f"{name}.onnx", given.width) for name in ("first", "second")]
        models = [windtunnel.load_model(path) for path in paths]
        data = write_images(root / "data", given.images)
        plan = windtunnel.plan(models[0], data, given.suite)
        batch = np.zeros((models[1].batch, 224, 224, 3), np.uint8)
        calls = plan.predictions / models[1].batch

        def run(count: int) -> None:
            windtunnel.run_models(models[:count], data, given.suite, out=root / f"runs{count}")
            shutil.rmtree(root / f"runs{count}")

        run(1)  # compiles
        added = []
        for _ in range(given.rounds):
            bare = seconds(lambda: [models[1].predict(batch) for _ in range(round(calls))])
            alone, both = seconds(lambda: run(1)), seconds(lambda: run(2))
            added.append((both - alone) / bare)
    print(f"suite {given.suite}, {plan.predictions} predictions a model, {given.rounds} rounds, one thread")
    print(f"second model / its inference  {statistics.median(added):.3f} [{min(added):.3f}-{max(added):.3f}]")


if __name__ == "__main__":
    main()
