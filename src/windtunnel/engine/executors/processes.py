"""Work in processes of this machine, one thread each; an item whose worker died is tried once more."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic

from windtunnel.core.errors import RunFailed
from windtunnel.engine.executors import Executor
from windtunnel.engine.jobs import Advance, I, Job, Sent, worker_error
from windtunnel.engine.worker_processes import single_threaded, start_uninterruptible

TRIES = 2


@dataclass
class _Worker(Generic[I]):
    process: BaseProcess
    pipe: Connection
    item: I | None = None
    done: int = 0  # of the item, as reported
    failed: int = 0


class Processes(Executor):
    """Processes that are started for the job and end with it."""

    name = "processes"
    help = "Processes of this machine, one thread each."

    def work(
        self, job: Job[I], items: Sequence[I], workers: int, advance: Advance, address: str | None
    ) -> Iterator[tuple[I, Any]]:
        """Do the items in processes of their own; each process does one item at a time."""
        del address
        context = multiprocessing.get_context("spawn")
        sent = Sent.packed(job, job.needs.includes)
        waiting = deque(items)
        tries: dict[str, int] = {}
        pool: list[_Worker[I]] = []

        def start() -> _Worker[I]:
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, sent), daemon=True)
            start_uninterruptible(process)
            theirs.close()
            return _Worker(process, ours)

        def assign(worker: _Worker[I]) -> None:
            worker.item = waiting.popleft() if waiting else None
            worker.done = worker.failed = 0
            # If the worker died since its last message, the next wait finds that its pipe has ended.
            with suppress(OSError):
                worker.pipe.send(worker.item)

        try:
            for _ in range(min(workers, len(waiting))):
                pool.append(start())
            for worker in pool:
                assign(worker)
            while busy := [worker for worker in pool if worker.item is not None]:
                for ready in wait([worker.pipe for worker in busy]):
                    worker = next(one for one in busy if one.pipe is ready)
                    try:
                        message, content = worker.pipe.recv()
                    except (EOFError, OSError):
                        pool.remove(worker)
                        advance(-worker.done, -worker.failed)
                        if replacement := _after_death(worker, waiting, tries, start):
                            pool.append(replacement)
                            assign(replacement)
                        continue
                    if message == "progress":
                        worker.done, worker.failed = worker.done + content[0], worker.failed + content[1]
                        advance(*content)
                    elif message == "done" and worker.item is not None:
                        yield worker.item, content
                        assign(worker)
                    else:
                        raise content
        finally:
            for worker in pool:
                worker.process.kill()
                worker.process.join()
                worker.pipe.close()


def _after_death(
    worker: _Worker[I], waiting: deque[I], tries: dict[str, int], start: Callable[[], _Worker[I]]
) -> _Worker[I] | None:
    worker.process.join()
    item = worker.item
    if item is None:
        return None
    tries[item.name] = tries.get(item.name, 1) + 1
    if tries[item.name] > TRIES:
        raise RunFailed(
            f"a worker died {TRIES} times (exit code {worker.process.exitcode}) on {item.description}"
        )
    waiting.appendleft(item)
    return start()


def _serve(pipe: Connection, sent: Sent) -> None:
    """A worker's life: get ready, then do items until told to stop or left alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops us
    try:
        job: Job[Any] = sent.received()
        do = job.begin()
        single_threaded()
        while (item := pipe.recv()) is not None:
            done = do(item, lambda *counts: pipe.send(("progress", counts)))
            pipe.send(("done", done))
    except (EOFError, ConnectionError):
        return  # the parent is gone
    except Exception as error:  # must reach the parent in words
        with suppress(OSError):  # nobody may be left to hear it
            pipe.send(("failed", worker_error(error)))


processes = Processes()
