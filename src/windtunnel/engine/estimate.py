"""How long a run will take: a few images made and predicted against the clock."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import ImageError
from windtunnel.core.images import Image
from windtunnel.core.samples import Surveyed
from windtunnel.core.wording import counted, duration
from windtunnel.engine.chunks import Chunk
from windtunnel.engine.condition_kinds import frames_under, warm_up
from windtunnel.engine.images import Source
from windtunnel.engine.jobs import Sent
from windtunnel.engine.work import Work, fitted
from windtunnel.engine.worker_processes import single_threaded, start_uninterruptible
from windtunnel.imaging.header import pillow_quiet
from windtunnel.models import Model, ModelSource, load_model
from windtunnel.models.numerics import variant_of

# A probe stops after this many seconds of making images against the clock.
BUDGET_SECONDS = 1.5
# The same with what only the first use of a condition costs, such as imports and compilation.
LIMIT_SECONDS = 8.0
# How many images of the data it makes others from, spread evenly over the data.
IMAGES = 3
# Below this many timed predictions, or this share of timed conditions, an estimate is called rough.
FEW_PREDICTIONS = 10
FEW_CONDITIONS = 0.5


@dataclass(frozen=True)
class Probe:
    """The seconds that one process needs per prediction, as measured.

    Attributes:
        seconds: per prediction.
        timed: predictions that were timed.
        rough: whether these are too few, or of too few conditions, to rely on.
    """

    seconds: float
    timed: int
    rough: bool


@dataclass(frozen=True)
class Expected:
    """How long the missing part of a run will take on this machine, as busy as it is now.

    Attributes:
        seconds: of all of it.
        workers: processes at work.
        timed: predictions that were timed.
        rough: whether these are too few, or of too few conditions, to rely on.
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


def expected(probe: Probe | None, missing: Sequence[Chunk], views: int, workers: int) -> Expected | None:
    """The time of missing chunks, each the work of one process; None where there is nothing to go by."""
    if probe is None or not missing:
        return None
    busy = min(workers, len(missing))
    sizes = [sum(image.status == "ok" for image in chunk.images) for chunk in missing]
    # No worker is done before its last chunk is.
    images = max(sum(sizes) / busy, max(sizes))
    return Expected(images * views * probe.seconds, busy, probe.timed, probe.rough)


def probe_images(images: Sequence[Surveyed]) -> tuple[Surveyed, ...]:
    """The few images that a probe is made on."""
    readable = [image for image in images if image.status == "ok"]
    places = sorted({len(readable) * place // IMAGES for place in range(IMAGES)})
    return tuple(readable[place] for place in places if readable)


def measure(work: Work, model: Model, images: Sequence[Surveyed]) -> Probe | None:
    """Time making and predicting these images under as many conditions as the budget allows.

    What only the first use of a condition or a network costs is done before and not counted. Conditions
    beyond the budget are taken to cost what the others cost on average. None where no image can be made, or
    the model fails on them: the run reports why.
    """
    begun, making, timed = time.perf_counter(), 0.0, 0
    made: list[Image] = []
    costs: dict[str, list[float]] = {}  # seconds, by the id of a condition
    # The id of a condition is a digest: in its order the first few are a random choice.
    order = sorted(work.conditions, key=lambda condition: condition.id)
    with pillow_quiet():
        for image in images:
            source = Source(work.dataset, image)
            for condition in order:
                if timed and (making > BUDGET_SECONDS or time.perf_counter() - begun > LIMIT_SECONDS):
                    break
                try:
                    if condition.id not in costs:
                        _use_once(condition, work, model, image)
                    start = time.perf_counter()
                    views = _images_under(source, condition, work, model)
                except ImageError:
                    continue
                seconds = time.perf_counter() - start
                costs.setdefault(condition.id, []).append(seconds)
                making += seconds
                timed += len(views)
                made += views[: max(0, model.batch - len(made))]
    predicting = _predicting(work, model, made)
    if predicting is None:
        return None
    # Each condition counts once, however many images of it were timed.
    per_image = sum(sum(seconds) / len(seconds) for seconds in costs.values())
    rough = timed < FEW_PREDICTIONS or len(costs) < FEW_CONDITIONS * len(order)
    views_per_image = sum(condition.frames for condition in order if condition.id in costs)
    return Probe(per_image / views_per_image + predicting, timed, rough)


def _use_once(condition: Condition, work: Work, model: Model, image: Surveyed) -> None:
    """Import and compile what a condition needs at its first image only."""
    if not condition.is_corrupted:
        _images_under(Source(work.dataset, image), condition, work, model)
    elif work.dataset.precomputed is None:
        warm_up([condition])


def _images_under(source: Source, condition: Condition, work: Work, model: Model) -> list[Image]:
    """What the model sees of one image under a condition."""
    geometry = work.geometry_of(condition, model)
    return [fitted(image, model) for image in frames_under(source, condition, geometry, work.seed)]


def _predicting(work: Work, model: Model, images: Sequence[Image]) -> float | None:
    """Seconds per prediction, each by the network in the arithmetic that its condition asks for.

    None where there are no images, or the model fails on them.
    """
    views = Counter(map(work.numerics, range(len(work.views))))
    try:
        seconds = {
            numerics: _seconds_per_image(variant_of(model, numerics) if numerics else model, images)
            for numerics in views
            if images
        }
    except Exception:  # the model's own code; the run tells of it
        return None
    return sum(seconds[name] * count for name, count in views.items()) / views.total() if seconds else None


def _seconds_per_image(network: Model, images: Sequence[Image]) -> float:
    """Seconds per image of predicting a batch, after a first call that is not counted."""
    alike = [image for image in images if image.shape == images[0].shape]
    batch = np.stack(alike[: network.batch])
    network.predict(batch[:1])
    start = time.perf_counter()
    network.predict(batch)
    return (time.perf_counter() - start) / len(batch)


def warm_up_and_measure_apart(
    work: Work, source: ModelSource, images: Sequence[Surveyed], includes: Sequence[Path]
) -> Probe | None:
    """Compile what conditions need and measure, in a process of its own that is one thread as workers are."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    sent = Sent(tuple(includes), pickle.dumps((work, source, tuple(images))))
    process = context.Process(target=_measure_apart, args=(theirs, sent))
    start_uninterruptible(process)
    theirs.close()
    try:
        found: Probe | None = ours.recv()
        process.join()
    except EOFError:  # it died; workers will tell why
        found = None
    finally:
        process.kill()
        ours.close()
    return found


def _measure_apart(pipe: Connection, sent: Sent) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent tells of an interruption
    with redirect_stdout(sys.stderr):
        work, source, images = sent.received()
        if work.dataset.precomputed is None:
            warm_up(work.conditions)
        model = load_model(source)
        single_threaded()  # after the model has imported its libraries, as in workers
        pipe.send(measure(work, model, images))
