"""Worker processes, one thread each; a dead one's chunk is tried once more."""

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
from windtunnel.suites.units import include_units

TRIES = 2


def single_threaded() -> None:
    """Keep the numeric libraries of this process to one thread, so that workers do not fight."""
    import cv2

    cv2.setNumThreads(1)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


@dataclass(frozen=True)
class Chunk:
    """A range of images that is worked on and stored as one."""

    name: str
    images: tuple[Surveyed, ...]


# Told of finished work, and of images that failed.
Advance = Callable[[int, int], None]
Labour = Callable[[Chunk, Advance], Any]


class Job(Protocol):
    """What workers are sent, once: `begin` gets a process ready and returns what is done with a chunk.

    Attributes:
        includes: files of the user's plug-ins, which a worker includes first.
    """

    @property
    def includes(self) -> tuple[Path, ...]: ...
    def begin(self) -> Labour: ...


@dataclass(frozen=True)
class Sent:
    """Something on its way to another process, which has to know the user's plug-ins to read it.

    Attributes:
        includes: files of the plug-ins.
        content: the pickled objects.
    """

    includes: tuple[Path, ...]
    content: bytes

    def received(self) -> Any:
        """The objects; a dataset may be of a class that only an included file defines."""
        include_units(self.includes)
        return pickle.loads(self.content)


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    chunk: Chunk | None = None


def start_uninterruptible(process: BaseProcess) -> None:
    """Start a process in which SIGINT is blocked from its first instruction on; its parent stops it.

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
    """Work on chunks in processes of their own, handing back each with its result as it is finished."""
    context = multiprocessing.get_context("spawn")
    sent = Sent(job.includes, pickle.dumps(job))
    waiting = deque(chunks)
    tries: dict[str, int] = {}
    pool: list[_Worker] = []

    def start() -> _Worker:
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, sent), daemon=True)
        start_uninterruptible(process)
        theirs.close()
        return _Worker(process, ours)

    def assign(worker: _Worker) -> None:
        worker.chunk = waiting.popleft() if waiting else None
        # A worker that died since its last word is found by the next wait: its pipe reads as ended.
        with suppress(OSError):
            worker.pipe.send(worker.chunk)

    try:
        for _ in range(min(workers, len(waiting))):
            pool.append(start())
        for worker in pool:
            assign(worker)
        while busy := [worker for worker in pool if worker.chunk is not None]:
            for ready in wait([worker.pipe for worker in busy]):
                worker = next(one for one in busy if one.pipe is ready)
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
    """A worker's life: get ready, then work on chunks until told to stop or left alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops us
    try:
        job: Job = sent.received()
        labour = job.begin()
        single_threaded()
        while (chunk := pipe.recv()) is not None:
            done = labour(chunk, lambda *counts: pipe.send(("progress", counts)))
            pipe.send(("done", done))
    except (EOFError, ConnectionError):
        return  # the parent is gone
    except (UserError, RunFailed) as error:
        with suppress(OSError):  # nobody may be left to hear it
            pipe.send(("failed", error))
    except Exception as error:  # anything else must reach the parent in words
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        with suppress(OSError):
            pipe.send(("failed", RunFailed(f"a worker crashed: {type(error).__name__}: {error} ({place})")))
