"""Execute plans: find the shards that are missing, have them scored, store each as it is finished.

Runs of several models over the same images are executed together: images are made once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from windtunnel.core.errors import RunFailed, UserError
from windtunnel.core.interruption import finishing_items
from windtunnel.core.locations import Location
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.wording import counted
from windtunnel.engine.chunks import Chunk, RunChunk
from windtunnel.engine.condition_kinds import warm_up
from windtunnel.engine.estimate import (
    Expected,
    Probe,
    expected,
    measure,
    probe_images,
    warm_up_and_measure_apart,
)
from windtunnel.engine.executors import PROCESSES, Workers
from windtunnel.engine.jobs import Advance, Needs, local_paths
from windtunnel.engine.pixels import PixelWork
from windtunnel.engine.plan import Plan
from windtunnel.engine.process_start import opencv_on_one_thread, refuse_unguarded_script
from windtunnel.engine.rescoring import repaired_images
from windtunnel.engine.scoring_jobs import LiveScoring, LoadedScoring, unpacked
from windtunnel.engine.warm_up import warm_up_apart
from windtunnel.engine.work import Work
from windtunnel.models import ModelSource
from windtunnel.models.numerics import variant_of
from windtunnel.store.folder import RunFolder


@dataclass(frozen=True)
class PlannedRun:
    """A plan and where it is executed.

    Attributes:
        plan: the work.
        folder: the run folder.
        source: where workers load the model from; None for a live object.
    """

    plan: Plan
    folder: Location
    source: ModelSource | None

    @cached_property
    def target(self) -> RunFolder:
        """The run folder, for writing."""
        return RunFolder(self.folder)

    @property
    def stays_here(self) -> bool:
        """Whether the model predicts in this process only: a live object, or the owner of a device."""
        return self.source is None or not self.plan.model.portable or self.plan.model.owns_device

    def work(self, *, strict: bool) -> Work:
        """What all its chunks have in common."""
        plan, model = self.plan, self.plan.model
        numerics = dict.fromkeys(condition.numerics for condition in plan.conditions)
        batches = {name: (variant_of(model, name) if name else model).batch for name in numerics}
        canvas, native = plan.canvas.geometry, model.preprocess.geometry
        whole = plan.task.whole_images
        pixels = PixelWork(plan.dataset.reader(), plan.conditions, canvas, native, batches, plan.seed, whole)
        return Work(pixels, plan.task, plan.postprocessor, plan.recipe.keep, strict)

    def rows(self, chunk: Chunk) -> int:
        """The number of predictions of a chunk."""
        return len(chunk.images) * self.plan.views

    def is_done(self, chunk: Chunk) -> bool:
        """Whether the shard of a chunk is complete, and none of its unreadable images is readable now."""
        done = self.target.has_shard(chunk.name, self.rows(chunk), self.plan.task)
        return done and not repaired_images(self.plan, self.target, chunk)

    def finished_predictions(self) -> int:
        """The number of predictions that the folder holds; another recipe's folder is refused."""
        self.target.check_same(self.plan.recipe, self.plan.samples_table)
        return sum(self.rows(chunk) for chunk in self.plan.chunks if self.is_done(chunk))

    def repaired_count(self) -> int:
        """The number of images of a precomputed set that failed earlier and can be read now."""
        return sum(len(repaired_images(self.plan, self.target, chunk)) for chunk in self.plan.chunks)


def refuse_unshareable(runs: Sequence[PlannedRun]) -> None:
    """Refuse to execute plans together that divide their images differently."""
    for run in runs[1:]:
        if [chunk.images for chunk in run.plan.chunks] != [chunk.images for chunk in runs[0].plan.chunks]:
            raise UserError(
                f"{runs[0].plan.model.name} and {run.plan.model.name} have different numbers of conditions "
                f"and so of images per shard; run them separately, or give {option('chunk')}."
            )


def execute(
    runs: Sequence[PlannedRun],
    *,
    workers: Workers = Workers(),  # noqa: B008 (frozen)
    includes: tuple[Path, ...] = (),
    strict: bool = False,
    progress: Progress = silent,
    expect: Callable[[Expected], None] | None = None,
) -> None:
    """Do what is missing of plans over the same images.

    Args:
        runs: the plans and their folders; a folder is created, or continued if it has the same recipe.
        workers: how many, and where.
        includes: files of the user's plug-ins, which workers need too.
        strict: stop at the first image that cannot be scored.
        progress: counts predictions and failed images.
        expect: called with the expected time as soon as it is known; None to skip the estimate.
    """
    refuse_unguarded_script()
    refuse_unshareable(runs)
    execution = Execution(runs, workers, includes, strict=strict)
    execution.check_workers()
    for run in runs:
        if strict:
            _refuse_failures(run)
        run.target.check_free()
    with ExitStack() as locks:
        for run in runs:
            locks.enter_context(run.target.locked())
        for run in runs:
            plan = run.plan
            run.target.open_for(
                plan.recipe, plan.info, plan.samples_table, plan.groups_table, plan.annotations_table
            )
        missing = missing_chunks(runs)
        total = sum(run.plan.predictions for run in runs)
        progress(total - _count(runs, missing), total)
        if missing:
            counter = _Counter(progress, total)
            with _says_what_is_kept(runs, missing, counter), finishing_items():
                execution.do(missing, counter, expect)


def expected_time(
    runs: Sequence[PlannedRun],
    workers: Workers = Workers(),  # noqa: B008 (frozen)
    includes: tuple[Path, ...] = (),
) -> Expected | None:
    """The expected duration of what the run folders do not hold yet, from timing a few predictions.

    They are timed where `execute` with the same arguments makes them: in a worker process, or in this one.
    """
    missing = missing_chunks(runs)
    if not missing:
        return None
    return Execution(runs, workers, includes, strict=False).expected(missing)


def probe_time(
    runs: Sequence[PlannedRun],
    workers: Workers = Workers(),  # noqa: B008 (frozen)
    includes: tuple[Path, ...] = (),
) -> tuple[Probe | None, bool]:
    """The measured time per image, and whether workers only make images for this process."""
    execution = Execution(runs, workers, includes, strict=False)
    every_run = tuple(range(len(runs)))
    chunks = [
        RunChunk(chunk.name, chunk.images, number, every_run)
        for number, chunk in enumerate(runs[0].plan.chunks)
    ]
    return execution.probe(chunks), execution.feeds


def missing_chunks(runs: Sequence[PlannedRun]) -> list[RunChunk]:
    """The chunks that at least one run folder does not hold."""
    chunks = []
    for number, chunk in enumerate(runs[0].plan.chunks):
        lacking = tuple(index for index, run in enumerate(runs) if not run.is_done(run.plan.chunks[number]))
        if lacking:
            chunks.append(RunChunk(chunk.name, chunk.images, number, lacking))
    return chunks


class Execution:
    """Plans over the same images, and the workers that execute them."""

    def __init__(
        self, runs: Sequence[PlannedRun], workers: Workers, includes: tuple[Path, ...], *, strict: bool
    ) -> None:
        self._runs = runs
        self._workers = workers
        self._includes = includes
        self._works = tuple(run.work(strict=strict) for run in runs)
        self._models = tuple(run.plan.model for run in runs)
        self._dataset = runs[0].plan.dataset
        self._stays_here = any(run.stays_here for run in runs)

    @property
    def feeds(self) -> bool:
        """Whether pixel workers make the images for models that predict in this process."""
        local = self._workers.executor in (None, PROCESSES)
        return self._stays_here and self._workers.count > 1 and local and self._dataset.portable

    def check_workers(self) -> None:
        """Refuse workers that cannot be given the models or the data."""
        sendable = self._dataset.portable and (self.feeds or not self._stays_here)
        accelerated = any(model.owns_device for model in self._models)
        live = "A model on an accelerator" if accelerated else "A live Python model or array"
        self._workers.check(portable=sendable, live=live)

    def do(
        self, missing: Sequence[RunChunk], advance: Advance, expect: Callable[[Expected], None] | None
    ) -> None:
        """Score the missing chunks and store each when it is done."""
        for run in self._runs:
            run.target.check_versions(run.plan.info.versions)
            run.target.check_hardware(run.plan.info.hardware)
        time = self._expected(missing, self._ready(missing, probing=expect is not None))
        if time and expect:
            expect(time)
        for chunk, shards in self._scored(missing, advance):
            for index, packed in zip(chunk.runs, shards, strict=True):
                run = self._runs[index]
                try:
                    run.target.write_shard(run.plan.chunks[chunk.number].name, unpacked(packed))
                except OSError as error:
                    raise RunFailed(f"a shard cannot be written: {error}") from error

    def expected(self, missing: Sequence[RunChunk]) -> Expected | None:
        """The expected duration of the missing chunks."""
        return self._expected(missing, self.probe(missing))

    def probe(self, missing: Sequence[RunChunk]) -> Probe | None:
        """The measured time per image."""
        return self._ready(missing, probing=True)

    def _expected(self, missing: Sequence[RunChunk], probe: Probe | None) -> Expected | None:
        return expected(probe, missing, self._workers.count, fed=self.feeds)

    def _scored(
        self, missing: Sequence[RunChunk], advance: Advance
    ) -> Iterator[tuple[RunChunk, list[bytes]]]:
        live = LiveScoring(self._works, self._models)
        if self.feeds:
            yield from live.score_fed(missing, self._workers.count, self._includes, advance)
            return
        executor = self._workers.executor_for(len(missing))
        job = self._loaded() if executor.separate else live
        yield from executor.work(job, missing, self._workers.count, advance, self._workers.address)

    def _loaded(self) -> LoadedScoring:
        sources = tuple(run.source for run in self._runs if run.source is not None)
        fingerprints = tuple(model.fingerprint for model in self._models)
        return LoadedScoring(self._works, sources, fingerprints, self._needs(sources))

    def _needs(self, sources: Sequence[ModelSource]) -> Needs:
        """What workers need: the models' files, the images, files of the conditions' settings."""
        paths = [path for source in sources for path in source.files]
        conditions = [condition for work in self._works for condition in work.pixels.conditions]
        settings = [str(value) for condition in conditions for value in condition.settings.values()]
        clean = self._dataset.given_clean.location if self._dataset.given_clean else ""
        inputs = local_paths([*paths, self._dataset.location, clean, *settings])
        versions = {name: value for run in self._runs for name, value in run.plan.info.versions.items()}
        return Needs(self._includes, inputs, versions=versions)

    def _ready(self, missing: Sequence[RunChunk], *, probing: bool) -> Probe | None:
        """Compile what the conditions need, and time a few predictions if `probing`.

        A process that only distributes work compiles nothing itself.
        """
        images = probe_images([image for chunk in missing for image in chunk.images])
        compiles = self._dataset.precomputed is None
        conditions = {condition.id: condition for work in self._works for condition in work.pixels.conditions}
        if not self.feeds and self._workers.executor_for(len(missing)).separate:
            if probing:
                busy = min(self._workers.count, len(missing))
                return warm_up_and_measure_apart(self._loaded(), images, busy)
            if compiles:
                warm_up_apart(tuple(conditions.values()), self._includes)
            return None
        if compiles:
            warm_up(tuple(conditions.values()))
        if not probing:
            return None
        with opencv_on_one_thread():
            return measure(self._works, self._models, images)


class _Counter:
    """Counts the predictions that are passed on."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self.done = 0

    def __call__(self, done: int, failed: int) -> None:
        self.done += done
        self._progress(done, self._total, failed)


def _count(runs: Sequence[PlannedRun], chunks: Sequence[RunChunk]) -> int:
    """The number of predictions of chunks that are missing."""
    return sum(runs[index].rows(chunk) for chunk in chunks for index in chunk.runs)


@contextmanager
def _says_what_is_kept(
    runs: Sequence[PlannedRun], missing: Sequence[RunChunk], counter: _Counter
) -> Iterator[None]:
    """Note on any exception how many predictions are stored and how many are lost."""
    try:
        yield
    except BaseException as error:
        total = sum(run.plan.predictions for run in runs)
        fresh = 0
        for chunk in missing:
            for index in chunk.runs:
                run = runs[index]
                name, rows = run.plan.chunks[chunk.number].name, run.rows(chunk)
                fresh += rows if name in run.target.written else 0
        kept = total - _count(runs, missing) + fresh
        lost = max(0, counter.done - fresh)
        folders = ", ".join(str(run.folder) for run in runs)
        error.add_note(
            f"{kept:,} of {counted(total, 'prediction')} are stored in {folders}"
            + (f"; {lost:,} of unfinished shards are lost." if lost else ".")
        )
        raise


def _refuse_failures(run: PlannedRun) -> None:
    """Refuse what `strict` forbids before any work: unreadable images, and failures already stored."""
    for image in run.plan.surveyed:
        if image.status != "ok":
            raise UserError(
                f"{image.sample.id}: {image.reason}. {option('strict', True)} stops at the first such image."
            )
    other_arithmetic = {condition.name for condition in run.plan.conditions if condition.numerics}
    for chunk in run.plan.chunks:
        if repaired_images(run.plan, run.target, chunk):
            continue
        for row in run.target.failures(chunk.name):
            if row["condition"] in other_arithmetic and row["status"] == "not_finite":
                continue
            raise UserError(
                f"{row['sample_id']} under {row['condition']}: {row['reason']}. "
                f"{option('strict', True)} stops at the first such image."
            )
