"""Estimates of a run's duration, from timing a few images."""

from __future__ import annotations

import heapq
import logging
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

import numpy as np

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import ImageError
from windtunnel.core.images import Image
from windtunnel.core.interruption import ignore_signals
from windtunnel.core.samples import Surveyed
from windtunnel.core.wording import counted, duration
from windtunnel.engine.chunks import Chunk
from windtunnel.engine.condition_kinds import frames_under, warm_up
from windtunnel.engine.images import Source
from windtunnel.engine.jobs import Sent
from windtunnel.engine.pixels import PixelWork
from windtunnel.engine.process_start import single_threaded, start_uninterruptible
from windtunnel.engine.scoring_jobs import LoadedScoring
from windtunnel.engine.shard_rows import ShardRows
from windtunnel.engine.work import Work
from windtunnel.imaging.header import pillow_quiet
from windtunnel.models import Model, load_model
from windtunnel.models.memory import predict_within_memory
from windtunnel.models.numerics import variant_of
from windtunnel.store.parquet import parquet_bytes

# A probe stops after this many seconds of making images.
BUDGET_SECONDS = 1.5
# The same, including what only the first use of a condition costs, such as imports and compilation.
LIMIT_SECONDS = 8.0
# A model is timed on batches until this many seconds have passed, or on this many batches.
BATCH_SECONDS = 0.5
MOST_BATCHES = 4
# The most processes that measure at the same time.
MOST_PROBES = 8
# Tells a process that all others are ready.
GO = "go"
# The number of images that a probe uses, spread evenly over the data.
PROBED_IMAGES = 3
# Below this many timed predictions, or this share of timed conditions, an estimate is called rough.
FEW_PREDICTIONS = 10
FEW_CONDITIONS = 0.5


@dataclass(frozen=True)
class Probe:
    """The measured time per image, under all conditions, in one process.

    Attributes:
        making: seconds for making what the models see of it.
        predicting: seconds for predicting it by every model and for storing the predictions.
        timed: number of timed predictions.
        rough: whether too few predictions, or too few conditions, were timed for a reliable estimate.
        starting: seconds until a worker process has loaded its models; 0 for work in this process.
    """

    making: float
    predicting: float
    timed: int
    rough: bool
    starting: float = 0.0


@dataclass(frozen=True)
class Expected:
    """The expected duration of the missing part of a run on this machine at its present load.

    Attributes:
        seconds: the duration in seconds.
        workers: number of worker processes.
        timed: number of timed predictions.
        rough: whether too few predictions, or too few conditions, were timed for a reliable estimate.
    """

    seconds: float
    workers: int
    timed: int
    rough: bool

    def __str__(self) -> str:
        """The estimate in words."""
        kind = "a rough estimate" if self.rough else "an estimate"
        return (
            f"about {duration(self.seconds)} on {counted(self.workers, 'worker')}; {kind} from "
            f"{counted(self.timed, 'prediction')} timed on this machine"
        )


def expected(probe: Probe | None, missing: Sequence[Chunk], workers: int, *, fed: bool) -> Expected | None:
    """The expected duration of the missing chunks; None without a probe or without missing chunks.

    A chunk is the work of one process. If the models are fed, workers make images while this process
    predicts: the slower of the two decides.
    """
    if probe is None or not missing:
        return None
    busy = min(workers, len(missing))
    sizes = [sum(image.status == "ok" for image in chunk.images) for chunk in missing]
    # Each chunk goes to the worker that is free first; the last worker decides.
    loads = [0] * busy
    for size in sizes:
        heapq.heapreplace(loads, loads[0] + size)
    images = max(loads)
    if fed:
        seconds = max(images * probe.making, sum(sizes) * probe.predicting)
    else:
        seconds = images * (probe.making + probe.predicting)
    return Expected(probe.starting + seconds, busy, probe.timed, probe.rough)


def probe_images(images: Sequence[Surveyed]) -> tuple[Surveyed, ...]:
    """The images that a probe uses."""
    readable = [image for image in images if image.status == "ok"]
    places = sorted({len(readable) * place // PROBED_IMAGES for place in range(PROBED_IMAGES)})
    return tuple(readable[place] for place in places if readable)


def measure(works: Sequence[Work], models: Sequence[Model], images: Sequence[Surveyed]) -> Probe | None:
    """Time making and predicting these images under as many conditions as the budget allows.

    One-time costs of a condition or a network are not counted. Conditions beyond the budget are assumed to
    cost the mean of the others. Images are assumed to be those of the first work. None if no image can be
    made, or if a model fails; the run reports why.
    """
    pixels = works[0].pixels
    begun, making, timed = time.perf_counter(), 0.0, 0
    made: list[Image] = []
    costs: dict[str, list[float]] = {}  # seconds, by the id of a condition
    # The id of a condition is a digest: in its order the first few are a random choice.
    order = sorted(pixels.conditions, key=lambda condition: condition.id)
    with pillow_quiet():
        for image in images:
            source = Source(pixels.dataset, image)
            for condition in order:
                if timed and (making > BUDGET_SECONDS or time.perf_counter() - begun > LIMIT_SECONDS):
                    break
                try:
                    if condition.id not in costs:
                        _use_once(condition, pixels, image)
                    start = time.perf_counter()
                    views = _images_under(source, condition, pixels)
                except ImageError:
                    continue
                seconds = time.perf_counter() - start
                costs.setdefault(condition.id, []).append(seconds)
                making += seconds
                timed += len(views)
                made += views[: max(0, models[0].batch - len(made))]
    predicting = _predicting(works, models, made, images)
    if predicting is None:
        return None
    # Each condition counts once, however many images of it were timed.
    mean_costs = sum(sum(seconds) / len(seconds) for seconds in costs.values())
    rough = timed < FEW_PREDICTIONS or len(costs) < FEW_CONDITIONS * len(order)
    views_timed = sum(condition.frames for condition in order if condition.id in costs)
    return Probe(mean_costs / views_timed * len(pixels.views), predicting, timed, rough)


def _use_once(condition: Condition, pixels: PixelWork, image: Surveyed) -> None:
    """Import and compile what a condition needs for its first image only."""
    if not condition.is_corrupted:
        _images_under(Source(pixels.dataset, image), condition, pixels)
    elif pixels.dataset.precomputed is None:
        warm_up([condition])


def _images_under(source: Source, condition: Condition, pixels: PixelWork) -> list[Image]:
    """The model's inputs for one image under a condition."""
    geometry = pixels.geometry_of(condition)
    return [pixels.fitted(image) for image in frames_under(source, condition, geometry, pixels.seed)]


def _predicting(
    works: Sequence[Work], models: Sequence[Model], images: Sequence[Image], surveyed: Sequence[Surveyed]
) -> float | None:
    """Seconds for all predictions of one image by every model, each with the numerics of its condition.

    Rows and their storage are included. None if there are no images, or if a model fails on them.
    """
    if not images:
        return None
    seconds = 0.0
    try:
        for work, model in zip(works, models, strict=True):
            inputs = [work.pixels.fitted(image) for image in images]
            for numerics, views in Counter(view.numerics for view, _ in work.pixels.views).items():
                network = variant_of(model, numerics) if numerics else model
                per_image, outputs = _timed_predictions(network, inputs)
                seconds += views * (per_image + _seconds_per_row(work, outputs, surveyed))
    except Exception:  # the model's own code; the run reports it
        return None
    return seconds


def _timed_predictions(network: Model, images: Sequence[Image]) -> tuple[float, Any]:
    """Seconds per image of filling and predicting a batch, and the outputs.

    A call with one image is not counted. Nor is the first batch, which allocates memory, if there is time
    for others.
    """
    same_size = [image for image in images if image.shape == images[0].shape][: network.batch]
    network.predict(same_size[0][None])
    seconds: list[float] = []
    while not seconds or (sum(seconds) < BATCH_SECONDS and len(seconds) < MOST_BATCHES):
        start = time.perf_counter()
        outputs = predict_within_memory(network, np.stack(same_size))
        seconds.append(time.perf_counter() - start)
    counted_batches = seconds[1:] or seconds
    return sum(counted_batches) / len(counted_batches) / len(same_size), outputs


def _seconds_per_row(work: Work, outputs: Any, images: Sequence[Surveyed]) -> float:
    """Seconds per prediction of computing its columns and storing it in a shard, not counting a first use."""
    seconds = 0.0
    for _ in range(2):
        rows = ShardRows(work.task, work.postprocessor, images, work.pixels.conditions, work.keep)
        count = min(len(outputs), len(rows.predicted))
        start = time.perf_counter()
        rows.add(np.arange(count), outputs[:count])
        added = time.perf_counter()
        parquet_bytes(rows.table())
        seconds = (added - start) / count + (time.perf_counter() - added) / len(rows.predicted)
    return seconds


def warm_up_and_measure_apart(job: LoadedScoring, images: Sequence[Surveyed], workers: int) -> Probe | None:
    """Compile what conditions need and measure, in separate processes with one thread each, like workers.

    As many processes as there will be workers measure at the same time, at most MOST_PROBES and one per
    processor core: workers compete for memory bandwidth and for cores.
    """
    context = multiprocessing.get_context("spawn")
    sent = Sent.packed((job, tuple(images)), job.needs.includes)
    pipes: list[Connection] = []
    processes: list[SpawnProcess] = []
    begun = time.time()
    try:
        for number in range(max(1, min(workers, MOST_PROBES, os.cpu_count() or 1))):
            ours, theirs = context.Pipe()
            process = context.Process(target=_measure_apart, args=(theirs, sent, number == 0), daemon=True)
            start_uninterruptible(process)
            theirs.close()
            pipes.append(ours)
            processes.append(process)
        starting = max([ours.recv() for ours in pipes]) - begun
        for ours in pipes:
            ours.send(GO)
        return _together([ours.recv() for ours in pipes], starting)
    except (EOFError, OSError):  # a process died; the workers report why
        return None
    finally:
        for process, ours in zip(processes, pipes, strict=True):
            process.kill()
            process.join()
            ours.close()


def _together(probes: Sequence[Probe | None], starting: float) -> Probe | None:
    """The mean of what several processes measured at the same time; None if one could not measure."""
    measured = [probe for probe in probes if probe is not None]
    if len(measured) < len(probes):
        return None
    return Probe(
        making=sum(probe.making for probe in measured) / len(measured),
        predicting=sum(probe.predicting for probe in measured) / len(measured),
        timed=sum(probe.timed for probe in measured),
        rough=any(probe.rough for probe in measured),
        starting=starting,
    )


def _measure_apart(pipe: Connection, sent: Sent, compiles: bool) -> None:
    """Get ready like a worker and say when that was, without compilation; then measure when told to."""
    ignore_signals()
    with redirect_stdout(sys.stderr):
        job, images = sent.received()
        begun = time.perf_counter()
        for work in job.works:
            if compiles and work.pixels.dataset.precomputed is None:
                warm_up(work.pixels.conditions)
        compiling = time.perf_counter() - begun
        models = [load_model(source) for source in job.sources]
        logging.disable()  # the workers report what they meet
        single_threaded()  # after the models have imported their libraries, as in workers
        pipe.send(time.time() - compiling)
        pipe.recv()
        pipe.send(measure(job.works, models, images))
