"""A run on all cores against bare inference on them: python benchmarks/two_cores.py --model FILE.onnx

Every worker process has one thread. Rates count from the tenth to the ninetieth per cent of predictions:
before that, processes start and load compiled functions; after that, one worker may be waiting for the last
chunk of the other. Neither counts in a run of thousands of images. A table shows where the time of one
process goes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from end_to_end import write_images, write_network

import windtunnel
from windtunnel.engine.execution import PlannedRun
from windtunnel.engine.pixels import Batch, make_batches
from windtunnel.engine.predictions import score_chunk
from windtunnel.models import load_model
from windtunnel.store.parquet import parquet_bytes


def infer(path: str, seconds: float, barrier: Any, rates: Any) -> None:
    """Predict batches for some seconds, at the same time as other processes, and report the rate."""
    model = load_model(path)
    batch = np.zeros((model.batch, 224, 224, 3), np.uint8)
    model.predict(batch)
    barrier.wait()
    begun, done = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        model.predict(batch)
        done += len(batch)
    rates.put(done / (time.perf_counter() - begun))


def bare_rate(path: Path, workers: int, seconds: float) -> float:
    """Predictions per second of as many processes as workers."""
    context = multiprocessing.get_context("spawn")
    barrier, rates = context.Barrier(workers), context.Queue()
    processes = [
        context.Process(target=infer, args=(str(path), seconds, barrier, rates)) for _ in range(workers)
    ]
    for process in processes:
        process.start()
    total = sum(rates.get() for _ in processes)
    for process in processes:
        process.join()
    return float(total)


def run_rate(path: Path, data: Path, suite: str, workers: int, out: Path) -> float:
    """Predictions per second of a run, over the middle of its predictions."""
    reports: list[tuple[float, int]] = []

    def note(done: int, _total: int, _failed: int = 0) -> None:
        if done:
            reports.append((time.perf_counter(), done))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", windtunnel.ImplausibleScores)  # random weights or random images
        windtunnel.run(path, data, suite, out=out, workers=workers, progress=note)
    reached = np.cumsum([done for _, done in reports])
    first, last = np.searchsorted(reached, [0.1 * reached[-1], 0.9 * reached[-1]])
    return float((reached[last] - reached[first]) / (reports[last][0] - reports[first][0]))


def time_table(path: Path, data: Path, suite: str) -> dict[str, float]:
    """Milliseconds per prediction of the parts of a run, in one process."""
    model = load_model(path)
    plan = windtunnel.plan(model, data, suite, subset=4)
    work = PlannedRun(plan, Path("unused"), None).work(strict=False)
    batches: list[Batch] = []
    for measured in (False, True):  # the first time compiles
        begun = time.perf_counter()
        batches = [event for event in make_batches([work.pixels], plan.surveyed) if isinstance(event, Batch)]
        pixels = time.perf_counter() - begun
        begun = time.perf_counter()
        for batch in batches:
            model.preprocess.tensor.apply(batch.images)
        tensor = time.perf_counter() - begun
        begun = time.perf_counter()
        for batch in batches:
            model.predict(batch.images)
        predict = time.perf_counter() - begun
        begun = time.perf_counter()
        (table,) = score_chunk([work], [model], plan.surveyed, lambda _done, _failed: None)
        whole = time.perf_counter() - begun
        begun = time.perf_counter()
        parquet_bytes(table)
        writing = time.perf_counter() - begun
        if not measured:
            continue
        parts = {
            "decode, corrupt, codec, batch": pixels,
            "tensor": tensor,
            "network": predict - tensor,
            "rows": whole - pixels - predict,
            "Parquet": writing,
        }
        return {name: 1000 * seconds / plan.predictions for name, seconds in parts.items()}
    return {}


def main() -> None:
    """Measure in turn and print rates, ratios and the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--model", type=Path, help="An ONNX file; default a plain network.")
    options.add_argument("--width", type=int, default=48, help="Width of the plain network.")
    options.add_argument("--suite", default="imagenet-c")
    options.add_argument("--images", type=int, default=96)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        path = given.model or write_network(root / "plain.onnx", given.width)
        data = write_images(root / "data", given.images)
        ratios = []
        for round_ in range(given.rounds):
            bare = bare_rate(path, given.workers, 8)
            run = run_rate(path, data, given.suite, given.workers, root / f"run{round_}")
            ratios.append(bare / run)
            print(f"bare {bare:.1f}/s, run {run:.1f}/s, ratio {ratios[-1]:.3f}", flush=True)
        print(f"run / bare on {given.workers} processes: {statistics.median(ratios):.3f}")
        print("| part of a prediction, one process | ms |\n|---|---|")
        for name, milliseconds in time_table(path, data, given.suite).items():
            print(f"| {name} | {milliseconds:.3f} |")


if __name__ == "__main__":
    main()
