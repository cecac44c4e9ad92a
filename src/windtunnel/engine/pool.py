"""Worker processes with one thread each; the chunk of a worker that died is tried once more."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Protocol

from windtunnel.core.errors import RunFailed, UserError
from windtunnel.core.samples import Surveyed
from windtunnel.suites.inclusion import include_files

TRIES = 2


def single_threaded() -> None:
    """Restrict the numeric libraries of this process to one thread, so that workers do not compete."""
    import cv2

    cv2.setNumThreads(1)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


@dataclass(frozen=True)
class Chunk:
    """A range of images that is processed and stored as one shard."""

    name: str
    images: tuple[Surveyed, ...]


# Called with the number of finished predictions and of failed images.
Advance = Callable[[int, int], None]
Labour = Callable[[Chunk, Advance], Any]


class Job(Protocol):
    """The job of workers, sent to each once: `begin` prepares a process and returns its function of a chunk.

    Attributes:
        includes: files of the user's plug-ins, which a worker includes first.
    """

    @property
    def includes(self) -> tuple[Path, ...]: ...
    def begin(self) -> Labour: ...


@dataclass(frozen=True)
class Sent:
    """Pickled objects for another process, together with the plug-ins that it needs to read them.

    Attributes:
        includes: files of the plug-ins.
        content: the pickled objects.
    """

    includes: tuple[Path, ...]
    content: bytes

    def received(self) -> Any:
        """The objects; included first, because an included file may define the class of a dataset."""
        include_files(self.includes)
        return pickle.loads(self.content)


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    chunk: Chunk | None = None


def start_uninterruptible(process: BaseProcess) -> None:
    """Start a process in which SIGINT is blocked from its first instruction; its parent stops it.

    A terminal sends Ctrl-C to workers too: one that is still importing would print a traceback. Here SIGINT
    is only delayed until the process is started.
    """
    if sys.platform == "win32":
        process.start()
        return
    resource_tracker.ensure_running()  # started by the first process otherwise, which unblocks SIGINT here
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def work_in_processes(
    job: Job, chunks: Iterable[Chunk], workers: int, advance: Advance
) -> Iterator[tuple[Chunk, Any]]:
    """Process chunks in worker processes; yields each chunk with its result when it is done."""
    context = multiprocessing.get_context("spawn")
    sent = Sent(job.includes, pickle.dumps(job))
    waiting = deque(chunks)
    tries: dict[str, int] = {}
    pool: list[_Worker] = []

    def start() -> _Worker:
        parent_pipe, worker_pipe = context.Pipe()
        process = context.Process(target=_serve, args=(worker_pipe, sent), daemon=True)
        start_uninterruptible(process)
        worker_pipe.close()
        return _Worker(process, parent_pipe)

    def assign(worker: _Worker) -> None:
        worker.chunk = waiting.popleft() if waiting else None
        # The next wait detects a worker that died since its last message: its pipe is at its end.
        with suppress(OSError):
            worker.pipe.send(worker.chunk)

    try:
        for _ in range(min(workers, len(waiting))):
            pool.append(start())
        for worker in pool:
            assign(worker)
        while busy := [worker for worker in pool if worker.chunk is not None]:
            for ready in wait([worker.pipe for worker in busy]):
                worker = next(candidate for candidate in busy if candidate.pipe is ready)
                try:
                    message, content = worker.pipe.recv()
                except (EOFError, OSError):
                    pool.remove(worker)
                    if replacement := _after_death(worker, waiting, tries, start):
                        pool.append(replacement)
                        assign(replacement)
                    continue
                if message == "progress":
                    advance(*content)
                elif message == "done" and worker.chunk is not None:
                    yield worker.chunk, content
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
            f"a worker died {TRIES} times (exit code {worker.process.exitcode}) on the images from "
            f"{chunk.images[0].sample.id} to {chunk.images[-1].sample.id}"
        )
    waiting.appendleft(chunk)
    return start()


def _serve(pipe: Connection, sent: Sent) -> None:
    """The main function of a worker: prepare, then process chunks until the parent stops or ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops this process
    try:
        job: Job = sent.received()
        labour = job.begin()
        single_threaded()
        while (chunk := pipe.recv()) is not None:
            done = labour(chunk, lambda *counts: pipe.send(("progress", counts)))
            pipe.send(("done", done))
    except (EOFError, ConnectionError):
        return  # the parent has ended
    except (UserError, RunFailed) as error:
        with suppress(OSError):  # the parent may have ended
            pipe.send(("failed", error))
    except Exception as error:  # the parent reports anything else as text
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        with suppress(OSError):
            pipe.send(("failed", RunFailed(f"a worker crashed: {type(error).__name__}: {error} ({place})")))
