"""Worker processes: each with its own model and one thread; a dead one's chunk is tried once more."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pyarrow as pa

from windtunnel.corruptions import include_units
from windtunnel.engine.plan import Chunk
from windtunnel.engine.work import Work, score_chunk
from windtunnel.errors import RunFailed, UserError
from windtunnel.models import ModelSource, load_model

TRIES = 2


def single_threaded() -> None:
    """Keep the numeric libraries of this process to one thread, so that workers do not fight."""
    import cv2

    cv2.setNumThreads(1)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    chunk: Chunk | None = None


def score_in_workers(
    work: Work,
    source: ModelSource,
    fingerprint: str,
    includes: tuple[Path, ...],
    chunks: Iterable[Chunk],
    workers: int,
    advance: Callable[[int, int], None],
) -> Iterator[tuple[Chunk, pa.Table]]:
    """Score chunks in worker processes, handing each back as it is finished."""
    context = multiprocessing.get_context("spawn")
    waiting = deque(chunks)
    tries: dict[str, int] = {}
    pool: list[_Worker] = []

    def start() -> _Worker:
        ours, theirs = context.Pipe()
        process = context.Process(
            target=_serve, args=(theirs, work, source, fingerprint, includes), daemon=True
        )
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def assign(worker: _Worker) -> None:
        worker.chunk = waiting.popleft() if waiting else None
        # A worker that died since its last word is found by the next wait: its pipe reads as ended.
        with suppress(OSError):
            worker.pipe.send(worker.chunk)

    try:
        pool = [start() for _ in range(min(workers, len(waiting)))]
        for worker in pool:
            assign(worker)
        while busy := [worker for worker in pool if worker.chunk is not None]:
            for ready in wait([worker.pipe for worker in busy]):
                worker = next(one for one in busy if one.pipe is ready)
                try:
                    kind, content = worker.pipe.recv()
                except (EOFError, OSError):
                    pool.remove(worker)
                    if replacement := _after_death(worker, waiting, tries, start):
                        pool.append(replacement)
                        assign(replacement)
                    continue
                if kind == "progress":
                    advance(*content)
                elif kind == "done" and worker.chunk is not None:
                    yield worker.chunk, pa.ipc.open_stream(content).read_all()
                    assign(worker)
                else:
                    raise content
    finally:
        for worker in pool:
            worker.process.kill()
            worker.process.join()
            worker.pipe.close()


def _after_death(
    worker: _Worker, waiting: deque[Chunk], tries: dict[str, int], start: Callable[[], _Worker]
) -> _Worker | None:
    worker.process.join()
    chunk = worker.chunk
    if chunk is None:
        return None
    tries[chunk.name] = tries.get(chunk.name, 1) + 1
    if tries[chunk.name] > TRIES:
        raise RunFailed(
            f"a worker died {TRIES} times (exit code {worker.process.exitcode}) on the pictures from "
            f"{chunk.pictures[0].sample.id} to {chunk.pictures[-1].sample.id}"
        )
    waiting.appendleft(chunk)
    return start()


def _serve(
    pipe: Connection, work: Work, source: ModelSource, fingerprint: str, includes: tuple[Path, ...]
) -> None:
    """A worker's life: load the model, then score chunks until told to stop or left alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops us
    try:
        include_units(includes)
        model = load_model(source)
        if model.fingerprint != fingerprint:
            raise UserError(
                f"{model.name} is another model in every process (weights drawn at random?); use --workers 1."
            )
        single_threaded()
        while (chunk := pipe.recv()) is not None:
            table = score_chunk(work, model, chunk.pictures, lambda *counts: pipe.send(("progress", counts)))
            pipe.send(("done", _packed(table)))
    except (EOFError, ConnectionError):
        return  # the parent is gone
    except (UserError, RunFailed) as error:
        pipe.send(("failed", error))
    except Exception as error:  # anything else must reach the parent in words
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        pipe.send(("failed", RunFailed(f"a worker crashed: {type(error).__name__}: {error} ({place})")))


def _packed(table: pa.Table) -> Any:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
