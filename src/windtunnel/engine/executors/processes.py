"""Work in processes of this machine, one thread each; an item whose worker died is tried once more."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic

from windtunnel.core.errors import RunFailed
from windtunnel.core.interruption import ignore_signals, stop_requested
from windtunnel.engine.executors import Executor
from windtunnel.engine.jobs import Advance, I, Job, Sent, worker_error
from windtunnel.engine.process_start import end_with_parent, single_threaded, start_uninterruptible

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
            parent_pipe, worker_pipe = context.Pipe()
            process = context.Process(target=_serve, args=(worker_pipe, sent), daemon=True)
            start_uninterruptible(process)
            worker_pipe.close()
            return _Worker(process, parent_pipe)

        def assign(worker: _Worker[I]) -> None:
            worker.item = waiting.popleft() if waiting and not stop_requested() else None
            worker.done = worker.failed = 0
            # The next wait detects a worker that died since its last message: its pipe is at its end.
            with suppress(OSError):
                worker.pipe.send(worker.item)

        try:
            for _ in range(min(workers, len(waiting))):
                pool.append(start())
            for worker in pool:
                assign(worker)
            while busy := [worker for worker in pool if worker.item is not None]:
                for ready in wait([worker.pipe for worker in busy]):
                    worker = next(candidate for candidate in busy if candidate.pipe is ready)
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
    """The main function of a worker: prepare, then do items until the parent stops or ends."""
    ignore_signals()
    end_with_parent()
    try:
        job: Job[Any] = sent.received()
        do = job.begin()
        single_threaded()
        while (item := pipe.recv()) is not None:
            done = do(item, lambda *counts: pipe.send(("progress", counts)))
            pipe.send(("done", done))
    except (EOFError, ConnectionError):
        return  # the parent has ended
    except Exception as error:  # the parent reports it as text
        with suppress(OSError):  # the parent may have ended
            pipe.send(("failed", worker_error(error)))


processes = Processes()
