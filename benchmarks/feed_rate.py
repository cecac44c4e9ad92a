"""Images per second that pixel workers deliver: python benchmarks/feed_rate.py

The model returns at once, so that only the images cost time: decode, 75 conditions of ImageNet-C, JPEG at
quality 85, a batch in shared memory. The bare pixel functions run in one process in turn with the workers.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from end_to_end import write_images
from numpy.typing import NDArray

import windtunnel
from windtunnel.engine.chunks import RunChunk
from windtunnel.engine.condition_kinds import frames_under
from windtunnel.engine.execution import PlannedRun
from windtunnel.engine.images import Source
from windtunnel.engine.pixels import PixelWork
from windtunnel.engine.scoring_jobs import LiveScoring
from windtunnel.engine.work import Work
from windtunnel.imaging.header import pillow_quiet
from windtunnel.models import Model

# A GPU that this many images per second keep busy, such as one that runs a ResNet-50.
GPU_IMAGES_PER_SECOND = 2500


SCORES = np.random.default_rng(0).normal(size=(256, 1000)).astype(np.float32)


def instant(batch: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Scores of a model that costs nothing."""
    return SCORES[: len(batch)]


def bare_rate(pixels: PixelWork, chunks: Sequence[RunChunk]) -> float:
    """Images per second of the bare pixel functions, in this process."""
    begun, made = time.perf_counter(), 0
    with pillow_quiet():
        for chunk in chunks:
            for image in chunk.images:
                source = Source(pixels.dataset, image)
                for condition in pixels.conditions:
                    for _ in frames_under(source, condition, pixels.geometry_of(condition), pixels.seed):
                        made += 1
    return made / (time.perf_counter() - begun)


def fed_rate(work: Work, model: Model, chunks: Sequence[RunChunk], workers: int) -> float:
    """Images per second of a model that is fed, from the first finished chunk on: workers have started."""
    job = LiveScoring((work,), (model,))
    begun, done = 0.0, 0
    for chunk, _ in job.score_fed(chunks, workers, (), lambda _done, _failed: None):
        if begun:
            done += len(chunk.images) * len(work.pixels.views)
        else:
            begun = time.perf_counter()
    return done / (time.perf_counter() - begun)


def main() -> None:
    """Measure in turn and print rates and ratios."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--images", type=int, default=320)
    options.add_argument("--rounds", type=int, default=5)
    given = options.parse_args()
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory() as folder:
        data = write_images(Path(folder) / "data", given.images)
        plan = windtunnel.plan(instant, data, "imagenet-c", chunk=4)
        work = PlannedRun(plan, Path(folder) / "run", None).work(strict=False)
        chunks = [RunChunk(chunk.name, chunk.images, number) for number, chunk in enumerate(plan.chunks)]
        bare_rate(work.pixels, chunks[:1])  # compiles
        rates: dict[str, list[float]] = {"bare": [], "1 worker": [], "2 workers": []}
        for _ in range(given.rounds):
            rates["bare"].append(bare_rate(work.pixels, chunks))
            for workers, label in ((1, "1 worker"), (2, "2 workers")):
                rates[label].append(fed_rate(work, plan.model, chunks, workers))
    print(f"{given.images} images x {plan.views} views, {given.rounds} rounds in turn")
    for label, each in rates.items():
        print(f"{label:10}{statistics.median(each):8.0f} images/s [{min(each):.0f}-{max(each):.0f}]")
    per_core = [fed / bare for fed, bare in zip(rates["1 worker"], rates["bare"], strict=True)]
    scaling = [two / one for two, one in zip(rates["2 workers"], rates["1 worker"], strict=True)]
    cores = GPU_IMAGES_PER_SECOND / statistics.median(rates["1 worker"])
    print(
        f"1 worker / bare       {statistics.median(per_core):.3f} [{min(per_core):.3f}-{max(per_core):.3f}]"
    )
    print(f"2 workers / 1 worker  {statistics.median(scaling):.3f} [{min(scaling):.3f}-{max(scaling):.3f}]")
    print(f"a GPU that does {GPU_IMAGES_PER_SECOND:,} images/s is kept busy by {cores:.1f} cores like these")


if __name__ == "__main__":
    main()
