"""Execute a plan: find what is missing from the run folder, have it scored, store each chunk as it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from windtunnel.core.errors import RunFailed, UserError
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.wording import counted
from windtunnel.engine.chunks import Chunk
from windtunnel.engine.condition_kinds import warm_up
from windtunnel.engine.estimate import (
    Expected,
    Probe,
    expected,
    measure,
    probe_images,
    warm_up_and_measure_apart,
)
from windtunnel.engine.executors import Executor, Workers
from windtunnel.engine.jobs import Advance, ItemFunction
from windtunnel.engine.plan import Plan
from windtunnel.engine.rescoring import repaired_images
from windtunnel.engine.work import Work, score_chunk, warm_up_apart
from windtunnel.engine.worker_processes import opencv_on_one_thread
from windtunnel.models import Model, ModelSource, load_model
from windtunnel.store.folder import RunFolder
from windtunnel.suites.pipeline_steps import axis_of


def execute(
    plan: Plan,
    folder: Path,
    *,
    workers: Workers = Workers(),  # noqa: B008 (frozen)
    source: ModelSource | None = None,
    includes: tuple[Path, ...] = (),
    strict: bool = False,
    progress: Progress = silent,
    expect: Callable[[Expected], None] | None = None,
) -> Path:
    """Score the missing chunks of a plan and return the run folder.

    Args:
        plan: the work.
        folder: the run folder; made, or continued where it holds the same recipe.
        workers: how many, and where.
        source: where workers load the model from.
        includes: files of the user's units, which workers need too.
        strict: stop at the first image that cannot be scored.
        progress: counts predictions and failed images.
        expect: called with the expected time as soon as it is known; None to skip the estimate.
    """
    portable = source is not None and plan.model.portable and plan.dataset.portable
    workers.check(portable=portable, live="A live Python model or array")
    target = RunFolder(folder)
    work = _work(plan, strict=strict)
    if strict:
        _refuse_failures(plan, target)
    target.check_free()
    with target.locked():
        target.open_for(plan.recipe, plan.info, plan.samples_table, plan.groups_table)
        missing = [chunk for chunk in plan.chunks if not _is_done(plan, target, chunk)]
        progress(plan.predictions - sum(_rows(plan, chunk) for chunk in missing), plan.predictions)
        if missing:
            counter = _Counter(progress, plan.predictions)
            with _says_what_is_kept(plan, target, missing, counter):
                _do(plan, target, work, missing, workers, source, includes, counter, expect)
    return folder


class _Counter:
    """Reports progress and counts the reported predictions."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self.done = 0

    def __call__(self, done: int, failed: int) -> None:
        self.done += done
        self._progress(done, self._total, failed)


@contextmanager
def _says_what_is_kept(
    plan: Plan, target: RunFolder, missing: list[Chunk], counter: _Counter
) -> Iterator[None]:
    """Add to any exception a note on how many predictions are stored and how many are lost."""
    try:
        yield
    except BaseException as error:
        rows = {chunk.name: _rows(plan, chunk) for chunk in missing}
        fresh = sum(count for name, count in rows.items() if target.has_shard(name, count, plan.task))
        stored = plan.predictions - sum(rows.values()) + fresh
        lost = max(0, counter.done - fresh)
        error.add_note(
            f"{stored:,} of {counted(plan.predictions, 'prediction')} are stored in {target.path}"
            + (f"; {lost:,} of unfinished shards are lost." if lost else ".")
        )
        raise


def _do(
    plan: Plan,
    target: RunFolder,
    work: Work,
    missing: list[Chunk],
    workers: Workers,
    source: ModelSource | None,
    includes: tuple[Path, ...],
    advance: Advance,
    expect: Callable[[Expected], None] | None,
) -> None:
    """Score the missing chunks and store each when it is done."""
    target.check_versions(plan.info.versions)
    executor = workers.executor_for(len(missing))
    probe = _ready(plan, work, executor, source, includes, probing=expect is not None)
    time = expected(probe, missing, plan.views, workers.count)
    if time and expect:
        expect(time)
    job: Scoring | LiveScoring = LiveScoring(work, plan.model)
    if source is not None and executor.separate:
        job = Scoring(work, source, plan.model.fingerprint, includes)
    for chunk, packed in executor.work(job, missing, workers.count, advance, workers.address):
        try:
            target.write_shard(chunk.name, pa.ipc.open_stream(packed).read_all())
        except OSError as error:
            raise RunFailed(f"a shard cannot be written: {error}") from error


def _work(plan: Plan, *, strict: bool) -> Work:
    return Work(
        plan.dataset, plan.conditions, plan.canvas.geometry, plan.seed, plan.task, plan.postprocessor,
        plan.recipe.keep, strict,
    )  # fmt: skip


def _ready(
    plan: Plan,
    work: Work,
    executor: Executor,
    source: ModelSource | None,
    includes: tuple[Path, ...],
    *,
    probing: bool,
) -> Probe | None:
    """Compile what the conditions need, and time a few predictions if `probing`.

    A process that only distributes work compiles nothing itself.
    """
    is_precomputed = plan.dataset.precomputed is not None
    if source is not None and executor.separate:
        if probing:
            return warm_up_and_measure_apart(work, source, probe_images(plan.surveyed), includes)
        if not is_precomputed:
            warm_up_apart(plan.conditions, includes)
        return None
    if not is_precomputed:
        warm_up(plan.conditions)
    if not probing:
        return None
    with opencv_on_one_thread():
        return measure(work, plan.model, probe_images(plan.surveyed))


def expected_time(
    plan: Plan,
    folder: Path,
    workers: Workers = Workers(),  # noqa: B008 (frozen)
    source: ModelSource | None = None,
    includes: tuple[Path, ...] = (),
) -> Expected | None:
    """The expected duration of the predictions that a run folder lacks, from timing a few of them.

    They are timed where `execute` with the same arguments makes them: in a worker process, or in this one.
    """
    target = RunFolder(folder)
    missing = [chunk for chunk in plan.chunks if not _is_done(plan, target, chunk)]
    if not missing:
        return None
    work = _work(plan, strict=False)
    probe = _ready(plan, work, workers.executor_for(len(missing)), source, includes, probing=True)
    return expected(probe, missing, plan.views, workers.count)


def _refuse_failures(plan: Plan, target: RunFolder) -> None:
    """Refuse, for `strict`, unreadable images and stored failures before any work."""
    for image in plan.surveyed:
        if image.status != "ok":
            raise UserError(
                f"{image.sample.id}: {image.reason}. {option('strict', True)} stops at the first such image."
            )
    for chunk in plan.chunks:
        if repaired_images(plan, target, chunk):
            continue
        for row in target.failures(chunk.name):
            if axis_of(row["condition"]) == "numerics" and row["status"] == "not_finite":
                continue
            raise UserError(
                f"{row['sample_id']} under {row['condition']}: {row['reason']}. "
                f"{option('strict', True)} stops at the first such image."
            )


def finished_predictions(plan: Plan, folder: Path) -> int:
    """The number of a plan's predictions that are stored; refuses a folder of another recipe."""
    target = RunFolder(folder)
    target.check_same(plan.recipe, plan.samples_table)
    return sum(_rows(plan, chunk) for chunk in plan.chunks if _is_done(plan, target, chunk))


def repaired_count(plan: Plan, folder: Path) -> int:
    """The number of images of a precomputed set that failed in a run folder and are readable now."""
    return sum(len(repaired_images(plan, RunFolder(folder), chunk)) for chunk in plan.chunks)


def _is_done(plan: Plan, target: RunFolder, chunk: Chunk) -> bool:
    """Whether a chunk is stored and none of its failed images is readable now."""
    done = target.has_shard(chunk.name, _rows(plan, chunk), plan.task)
    return done and not repaired_images(plan, target, chunk)


def _rows(plan: Plan, chunk: Chunk) -> int:
    return len(chunk.images) * plan.views


@dataclass(frozen=True)
class Scoring:
    """The job of a worker: load the model again, then score chunks.

    Attributes:
        work: the settings that all chunks share.
        source: where the model is loaded from.
        fingerprint: the expected fingerprint of the model.
        includes: files of the user's plug-ins.
    """

    work: Work
    source: ModelSource
    fingerprint: str
    includes: tuple[Path, ...]

    def begin(self) -> ItemFunction[Chunk]:
        """Load the model."""
        model = load_model(self.source)
        if model.fingerprint != self.fingerprint:
            raise UserError(
                f"{model.name} differs between processes (randomly initialised weights?); use "
                f"{option('workers', 1)}."
            )
        return LiveScoring(self.work, model).score


@dataclass(frozen=True)
class LiveScoring:
    """The job of scoring chunks with a model that is loaded.

    Attributes:
        work: what every chunk has in common.
        model: the model.
        includes: none; plug-ins of this process are registered.
    """

    work: Work
    model: Model
    includes: tuple[Path, ...] = ()

    def begin(self) -> ItemFunction[Chunk]:
        """Nothing has to be loaded."""
        return self.score

    def score(self, chunk: Chunk, advance: Advance) -> bytes:
        """The rows of a chunk, in Arrow's stream format."""
        return _packed(score_chunk(self.work, self.model, chunk.images, advance))


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())
