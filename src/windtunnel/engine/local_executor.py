"""Local execution: score the chunks that are missing from the run folder and store each when it is done."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from windtunnel.core.errors import RunFailed, UserError
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.wording import counted
from windtunnel.engine.condition_kinds import warm_up
from windtunnel.engine.estimate import (
    Expected,
    Probe,
    expected,
    measure,
    probe_images,
    warm_up_and_measure_apart,
)
from windtunnel.engine.plan import Plan
from windtunnel.engine.pool import Advance, Chunk, Labour, work_in_processes
from windtunnel.engine.rescoring import repaired_images
from windtunnel.engine.work import Work, score_chunk, warm_up_apart
from windtunnel.models import ModelSource, load_model
from windtunnel.store.folder import RunFolder
from windtunnel.suites.pipeline_steps import axis_of


def execute(
    plan: Plan,
    folder: Path,
    *,
    workers: int = 1,
    source: ModelSource | None = None,
    includes: tuple[Path, ...] = (),
    strict: bool = False,
    progress: Progress = silent,
    expect: Callable[[Expected], None] | None = None,
) -> Path:
    """Score the missing chunks of a plan and return the run folder.

    Args:
        plan: the work.
        folder: the run folder; created, or continued if it has the same recipe.
        workers: 1 runs in this process; more start as many processes.
        source: where workers load the model from.
        includes: files of the user's units, which workers need too.
        strict: stop at the first image that cannot be scored.
        progress: counts predictions and failed images.
        expect: called with the expected time as soon as it is known; None to skip the estimate.
    """
    if workers < 1:
        raise UserError(f"{option('workers')} is {workers}; give at least 1.")
    if workers > 1 and not (source and plan.model.portable and plan.dataset.portable):
        raise UserError(
            f"A live Python model or array cannot be sent to worker processes; use {option('workers', 1)}."
        )
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
    workers: int,
    source: ModelSource | None,
    includes: tuple[Path, ...],
    advance: Advance,
    expect: Callable[[Expected], None] | None,
) -> None:
    """Score the missing chunks and store each when it is done."""
    target.check_versions(plan.info.versions)
    probe = _ready(plan, work, missing, workers, source, includes, probing=expect is not None)
    time = expected(probe, missing, plan.views, workers)
    if time and expect:
        expect(time)
    for chunk, table in _scored(plan, work, missing, workers, source, includes, advance):
        try:
            target.write_shard(chunk.name, table)
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
    missing: list[Chunk],
    workers: int,
    source: ModelSource | None,
    includes: tuple[Path, ...],
    *,
    probing: bool,
) -> Probe | None:
    """Compile what the conditions need, and time a few predictions if `probing`.

    A process that only distributes work compiles nothing itself.
    """
    is_precomputed = plan.dataset.precomputed is not None
    if source is not None and _in_processes(workers, missing, source):
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
    workers: int,
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
    probe = _ready(plan, work, missing, workers, source, includes, probing=True)
    return expected(probe, missing, plan.views, workers)


def usable_workers(plan: Plan, requested: int | None = None) -> int:
    """The number of worker processes for a plan: as requested, or one per core; at most one per shard.

    1 if the model or the data cannot be sent to another process.
    """
    if not (plan.model.portable and plan.dataset.portable):
        return 1
    return min(requested or os.cpu_count() or 1, len(plan.chunks))


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


def _in_processes(workers: int, missing: list[Chunk], source: ModelSource | None) -> bool:
    """Whether the work is done in worker processes."""
    return workers > 1 and len(missing) > 1 and source is not None


def _scored(
    plan: Plan,
    work: Work,
    missing: list[Chunk],
    workers: int,
    source: ModelSource | None,
    includes: tuple[Path, ...],
    advance: Advance,
) -> Iterator[tuple[Chunk, pa.Table]]:
    if source is not None and _in_processes(workers, missing, source):
        job = Scoring(work, source, plan.model.fingerprint, includes)
        for chunk, packed in work_in_processes(job, missing, workers, advance):
            yield chunk, pa.ipc.open_stream(packed).read_all()
        return
    with opencv_on_one_thread():
        for chunk in missing:
            yield chunk, score_chunk(work, plan.model, chunk.images, advance)


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

    def begin(self) -> Labour:
        """Load the model."""
        model = load_model(self.source)
        if model.fingerprint != self.fingerprint:
            raise UserError(
                f"{model.name} differs between processes (randomly initialised weights?); use "
                f"{option('workers', 1)}."
            )
        return lambda chunk, advance: _packed(score_chunk(self.work, model, chunk.images, advance))


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


@contextmanager
def opencv_on_one_thread() -> Iterator[None]:
    """Restrict OpenCV to one thread while working in the caller's process; restores the number of threads."""
    import cv2

    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before)
