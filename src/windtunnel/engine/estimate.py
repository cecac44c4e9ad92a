"""How long a run will take: a few images made and predicted against the clock."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from windtunnel.conditions import Condition
from windtunnel.data.finished import FinishedDataset
from windtunnel.data.survey import Surveyed
from windtunnel.engine.pictures import Source
from windtunnel.engine.pool import Chunk, single_threaded
from windtunnel.engine.work import Work, fitted, warm_up
from windtunnel.errors import PictureError
from windtunnel.imaging import Image
from windtunnel.imaging.header import pillow_quiet
from windtunnel.models import Model, ModelSource, load_model
from windtunnel.units import include_units
from windtunnel.wording import counted, duration

# A probe stops after this many seconds of making images, or twice as many in all.
BUDGET_SECONDS = 1.5
# How many images of the data it makes others from, spread evenly over the data.
IMAGES = 3


@dataclass(frozen=True)
class Probe:
    """What was measured: seconds that one process needs per prediction, and how many were timed."""

    seconds: float
    timed: int


@dataclass(frozen=True)
class Expected:
    """How long the missing part of a run will take on this machine, as busy as it is now.

    Attributes:
        seconds: of all of it.
        workers: processes at work.
        timed: predictions that were timed.
    """

    seconds: float
    workers: int
    timed: int

    def __str__(self) -> str:
        """The estimate in words."""
        return (
            f"about {duration(self.seconds)} on {counted(self.workers, 'worker')}; an estimate from "
            f"{counted(self.timed, 'prediction')} timed on this machine"
        )


def expected(probe: Probe | None, missing: Sequence[Chunk], views: int, workers: int) -> Expected | None:
    """The time of missing chunks, each the work of one process; None where there is nothing to go by."""
    if probe is None or not missing:
        return None
    busy = min(workers, len(missing))
    sizes = [sum(picture.status == "ok" for picture in chunk.pictures) for chunk in missing]
    # No worker is done before its last chunk is.
    images = max(sum(sizes) / busy, max(sizes))
    return Expected(images * views * probe.seconds, busy, probe.timed)


def probe_images(pictures: Sequence[Surveyed]) -> tuple[Surveyed, ...]:
    """The few images that a probe is made on."""
    readable = [picture for picture in pictures if picture.status == "ok"]
    places = sorted({len(readable) * place // IMAGES for place in range(IMAGES)})
    return tuple(readable[place] for place in places if readable)


def measure(work: Work, model: Model, pictures: Sequence[Surveyed]) -> Probe | None:
    """Time making and predicting these images under as many conditions as the budget allows.

    Conditions beyond the budget are taken to cost what the others cost on average. None where no image can
    be made, or the model fails on them: the run reports why.
    """
    begun, making = time.perf_counter(), 0.0
    made: list[Image] = []
    timed = 0
    # The id of a condition is a digest: in its order the first few are a random choice.
    order = sorted(work.conditions, key=lambda condition: condition.id)
    with pillow_quiet():
        for picture in pictures:
            source = Source(work.dataset, picture)
            for condition in order:
                if timed and (making > BUDGET_SECONDS or time.perf_counter() - begun > 2 * BUDGET_SECONDS):
                    break
                if not isinstance(work.dataset, FinishedDataset):
                    warm_up([condition])
                start = time.perf_counter()
                try:
                    views = _images_under(source, condition, work, model)
                except PictureError:
                    continue
                making += time.perf_counter() - start
                timed += len(views)
                made += views[: max(0, model.batch - len(made))]
    predicting = _predicting(model, made)
    return None if predicting is None else Probe(making / timed + predicting, timed)


def _images_under(source: Source, condition: Condition, work: Work, model: Model) -> list[Image]:
    """What the model sees of one image under a condition."""
    geometry = work.geometry_of(condition, model)
    return [fitted(image, model) for image in source.frames_under(condition, geometry, work.seed)]


def _predicting(model: Model, images: Sequence[Image]) -> float | None:
    """Seconds per image of predicting a batch; None where there is no batch, or the model fails on it."""
    batch = [image for image in images if image.shape == images[0].shape]
    if not batch:
        return None
    start = time.perf_counter()
    try:
        model.predict(np.stack(batch))
    except Exception:  # the model's own code; the run tells of it
        return None
    return (time.perf_counter() - start) / len(batch)


def warm_up_and_measure_apart(
    work: Work, source: ModelSource, pictures: Sequence[Surveyed], includes: Sequence[Path]
) -> Probe | None:
    """Compile what conditions need and measure, in a process of its own that is one thread as workers are."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(
        target=_measure_apart, args=(theirs, work, source, tuple(pictures), tuple(includes))
    )
    process.start()
    theirs.close()
    try:
        found: Probe | None = ours.recv()
    except EOFError:  # it died; workers will tell why
        found = None
    process.join()
    ours.close()
    return found


def _measure_apart(
    pipe: Connection,
    work: Work,
    source: ModelSource,
    pictures: Sequence[Surveyed],
    includes: Sequence[Path],
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent tells of an interruption
    with redirect_stdout(sys.stderr):
        include_units(includes)
        if not isinstance(work.dataset, FinishedDataset):
            warm_up(work.conditions)
        model = load_model(source)
        single_threaded()  # after the model has imported its libraries, as in workers
        pipe.send(measure(work, model, pictures))
