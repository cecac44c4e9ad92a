"""Two ways to share CPU cores: python benchmarks/cpu_stages.py --model FILE.onnx

Either every worker makes pixels and predicts with one thread, as runs on CPUs do, or pixel workers feed one
session with a thread per core. Both are timed in turn, with the 78 views of ImageNet-C.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import onnxruntime
from end_to_end import write_images, write_network
from two_cores import run_rate

import windtunnel
from windtunnel.engine.chunks import RunChunk
from windtunnel.engine.execution import PlannedRun
from windtunnel.engine.scoring_jobs import LiveScoring


def fed_session_rate(path: Path, data: Path, suite: str, workers: int) -> float:
    """Predictions per second of one session with a thread per core, fed by pixel workers."""
    model = windtunnel.load_model(path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = workers
    model._session = onnxruntime.InferenceSession(  # type: ignore[attr-defined]
        path, options, providers=["CPUExecutionProvider"]
    )
    plan = windtunnel.plan(model, data, suite)
    work = PlannedRun(plan, Path("unused"), None).work(strict=False)
    chunks = [RunChunk(chunk.name, chunk.images, number) for number, chunk in enumerate(plan.chunks)]
    reports: list[tuple[float, int]] = []

    def note(done: int, _failed: int) -> None:
        reports.append((time.perf_counter(), done))

    for _ in LiveScoring((work,), (model,)).score_fed(chunks, workers, (), note):
        pass
    return sum(done for _, done in reports[1:]) / (reports[-1][0] - reports[0][0])


def main() -> None:
    """Measure in turn and print rates and their ratio."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--model", type=Path, help="An ONNX file; default a plain network.")
    options.add_argument("--width", type=int, default=48, help="Width of the plain network.")
    options.add_argument("--suite", default="imagenet-c")
    options.add_argument("--images", type=int, default=32)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        path = given.model or write_network(root / "plain.onnx", given.width)
        data = write_images(root / "data", given.images)
        ratios = []
        for round_ in range(given.rounds):
            alone = run_rate(path, data, given.suite, given.workers, root / f"run{round_}")
            fed = fed_session_rate(path, data, given.suite, given.workers)
            ratios.append(fed / alone)
            print(f"every worker predicts {alone:.1f}/s, one session {fed:.1f}/s, ratio {ratios[-1]:.3f}")
        print(f"one session / every worker: {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
