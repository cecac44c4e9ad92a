"""The process that talks to a Ray cluster: starts workers, hands out items, replaces lost workers.

It is a process of its own because Ray ends a process whose cluster is gone, prints to standard output and
changes signal handlers.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from windtunnel.core.errors import RunFailed, UserError, first_line
from windtunnel.core.interruption import ignore_signals
from windtunnel.engine.ray_worker import Counts, RayWorker, Setup

# An item, or the start of a worker, is tried this often.
TRIES = 3
# The message by which the caller asks for no further items.
DRAIN = "drain"
# How often workers are asked for their progress: every second, for hundreds of workers less often.
PROGRESS_SECONDS = 1.0
PROGRESS_CALLS_PER_SECOND = 100
# How long a cluster may take to say which nodes it has.
ANSWER_SECONDS = 10.0
# Longer paths do not fit into the names of Ray's sockets.
LONGEST_FOLDER = 40
ENVIRONMENT = {"RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0", "RAY_USAGE_STATS_ENABLED": "0"}


class ClusterGone(RunFailed):
    """The cluster does not answer; leaving it in good order would take forever."""


Purpose = Literal["begin", "do", "progress"]
Send = Callable[[str, Any], None]


@dataclass(frozen=True)
class Packed:
    """An item on its way to a worker."""

    name: str
    description: str
    content: bytes


@dataclass(frozen=True)
class Orders:
    """What the driver is asked to do; without a setup, only to count the cluster's CPUs.

    Attributes:
        address: the cluster; None for one of this machine, which ends with the work.
        workers: how many workers.
        setup: what every worker is sent.
        items: the work.
    """

    address: str | None
    workers: int = 1
    setup: Setup | None = None
    items: tuple[Packed, ...] = ()


@dataclass(eq=False)
class _Worker:
    """An actor, the place of its item, and the item's progress as reported."""

    actor: Any
    mark: Path | None
    ready: bool = False
    item: int | None = None
    counts: Counts = (0, 0)
    asked: bool = False  # for its progress, without an answer yet


def drive(pipe: Connection, orders: Orders) -> None:
    """The main function of the driver process: connect, work, and disconnect when the pipe is closed."""
    ignore_signals()
    os.environ.update(ENVIRONMENT)
    _silence()
    stopped, draining = threading.Event(), threading.Event()
    threading.Thread(target=_watch, args=(pipe, stopped, draining), daemon=True).start()

    def send(message: str, content: Any) -> None:
        with suppress(OSError):  # the caller may have ended
            pipe.send((message, content))

    try:
        with _connected(orders) as ray:
            send("connected", None)
            if orders.setup is None:
                send("cpus", _cpus(ray))
            else:
                Dispatcher(ray, orders, orders.setup, send).run(stopped, draining)
    except ClusterGone as error:
        send("failed", error)
        os._exit(1)
    except (UserError, RunFailed) as error:
        send("failed", error)
    except Exception as error:
        send("failed", RunFailed(f"Ray failed: {type(error).__name__}: {first_line(error)}"))


def _silence() -> None:
    """Send what Ray prints nowhere; it keeps logs of its own."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)


def _watch(pipe: Connection, stopped: threading.Event, draining: threading.Event) -> None:
    """Wait until the caller asks for no further items, and until it closes the pipe or ends."""
    with suppress(EOFError, OSError):
        while pipe.recv() == DRAIN:
            draining.set()
    stopped.set()


@contextmanager
def _connected(orders: Orders) -> Iterator[Any]:
    """Connect to the cluster, or start one on this machine and stop it in the end."""
    import ray

    quiet = {"log_to_driver": False, "logging_level": "CRITICAL", "namespace": "windtunnel"}
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        if orders.address is None:
            own: dict[str, Any] = {"num_cpus": orders.workers, "include_dashboard": False}
            if len(folder) <= LONGEST_FOLDER:
                own["_temp_dir"] = folder
            ray.init(address="local", **own, **quiet)
        else:
            try:
                ray.init(address=orders.address, **quiet)
            except Exception as error:  # Ray has many kinds
                raise UserError(
                    f"There is no Ray cluster at {orders.address} that this machine belongs to "
                    f"({first_line(error)}). Give the address that `ray start` printed on the head "
                    "node, and make this machine a node if it is none, as docs/howto/ray.md shows."
                ) from error
        try:
            yield ray
        except ClusterGone:
            raise
        except Exception:
            ray.shutdown(wait_for_processes=True)
            raise
        ray.shutdown(wait_for_processes=True)


def _cpus(ray: Any) -> int:
    """The CPUs of all nodes that are alive; fails if the cluster does not answer."""
    found: list[Any] = []
    asking = threading.Thread(target=lambda: found.extend(ray.nodes()), daemon=True)
    asking.start()
    asking.join(ANSWER_SECONDS)
    if asking.is_alive():
        raise ClusterGone("the Ray cluster is gone: it does not answer")
    return int(sum(node["Resources"].get("CPU", 0) for node in found if node["Alive"]))


@dataclass(eq=False)
class Dispatcher:
    """Hands items to workers, one at a time to each, until all are done."""

    ray: Any
    orders: Orders
    setup: Setup
    send: Send
    workers: list[_Worker] = field(default_factory=list)
    tries: Counter[int] = field(default_factory=Counter)
    failed_starts: int = 0
    done: int = 0

    def __post_init__(self) -> None:
        self._waiting = deque(range(len(self.orders.items)))
        self._calls: dict[Any, tuple[_Worker, Purpose]] = {}
        self._shared = self.ray.put(self.setup)
        self._actor = self.ray.remote(
            num_cpus=1,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
            concurrency_groups={"progress": 1},
        )(RayWorker)
        self._asked = self._checked = time.monotonic()

    def run(self, stopped: threading.Event, draining: threading.Event) -> None:
        """Do all items; those in progress if `draining` is set; returns at once if `stopped` is set."""
        try:
            self._start_workers()
            while self.done < len(self.orders.items) and not stopped.is_set():
                if draining.is_set():
                    self._waiting.clear()
                    if not any(worker.item is not None for worker in self.workers):
                        self.send("drained", None)
                        return
                ready, _ = self.ray.wait(list(self._calls), timeout=PROGRESS_SECONDS / 2)
                for call in ready:
                    self._answered(call)
                self._ask_for_progress()
                self._check_cluster()
        finally:
            self._end_workers()

    def _end_workers(self) -> None:
        """End the workers at once, in the middle of an item if need be."""
        for worker in self.workers:
            if worker.mark:
                worker.mark.unlink(missing_ok=True)
            with suppress(Exception):  # it may be gone
                self.ray.kill(worker.actor)

    def _start_workers(self) -> None:
        """Start as many workers as items are left, at most as many as asked for."""
        left = len(self.orders.items) - self.done
        while len(self.workers) < min(self.orders.workers, left):
            mark = None
            if self.setup.output is not None:
                mark = self.setup.output / f"worker-{uuid4().hex}.unfinished"
                mark.touch()
            worker = _Worker(self._actor.remote(), mark)
            self.workers.append(worker)
            self._calls[worker.actor.begin.remote(self._shared, mark)] = worker, "begin"

    def _answered(self, call: Any) -> None:
        worker, purpose = self._calls.pop(call)
        errors = self.ray.exceptions
        if purpose == "begin" and worker.mark:
            worker.mark.unlink(missing_ok=True)
        try:
            answer = self.ray.get(call)
        except errors.RayTaskError as error:  # the worker's methods raise nothing
            raise RunFailed(f"a worker failed: {first_line(error)}") from error
        except errors.RayError as error:  # a lost actor, node or result, or memory
            if purpose != "progress" and worker in self.workers:
                self._lost(worker, error)
            return
        if purpose == "progress":
            worker.asked = False
            name, counts = answer
            if worker.item is not None and self.orders.items[worker.item].name == name:
                self._report(worker, counts)
            return
        outcome, content = answer
        if outcome == "failed":
            raise content
        if purpose == "begin":
            self.failed_starts, worker.ready = 0, True
        elif worker.item is not None:
            result, counts = content
            self._report(worker, counts)
            self.send("done", (worker.item, result))
            self.done += 1
        self._assign(worker)

    def _assign(self, worker: _Worker) -> None:
        """Give a worker the next item; without one it ends, which frees its CPU."""
        worker.item, worker.counts = None, (0, 0)
        if not self._waiting:
            self.workers.remove(worker)
            self.ray.kill(worker.actor)
            return
        worker.item = self._waiting.popleft()
        item = self.orders.items[worker.item]
        self._calls[worker.actor.do.remote(item.name, item.content)] = worker, "do"

    def _report(self, worker: _Worker, counts: Counts) -> None:
        """Report what was finished since the last report."""
        done, failed = counts[0] - worker.counts[0], counts[1] - worker.counts[1]
        worker.counts = counts
        if done or failed:
            self.send("progress", (done, failed))

    def _lost(self, worker: _Worker, error: Exception) -> None:
        """Replace a worker that is lost; its item is done again, at most `TRIES` times in all."""
        self.workers.remove(worker)
        with suppress(Exception):  # it may be alive but out of reach
            self.ray.kill(worker.actor)
        _check_installed(error)
        reason = _reason(error, self.ray.exceptions)
        if worker.item is None:
            self.failed_starts += 1
            if self.failed_starts >= TRIES:
                raise RunFailed(f"{TRIES} workers in a row died while they started ({reason})")
        else:
            self._report(worker, (0, 0))
            self.tries[worker.item] += 1
            if self.tries[worker.item] >= TRIES:
                item = self.orders.items[worker.item]
                raise RunFailed(f"a worker died {TRIES} times ({reason}) on {item.description}")
            self._waiting.appendleft(worker.item)
        self._checked = 0.0
        self._check_cluster()
        self._start_workers()

    def _check_cluster(self) -> None:
        """Stop if the cluster is gone or has no CPU; asked where no worker is at work, now and then."""
        now = time.monotonic()
        if self._checked and (
            now - self._checked < ANSWER_SECONDS or any(worker.ready for worker in self.workers)
        ):
            return
        self._checked = now
        if not _cpus(self.ray):
            raise RunFailed("the Ray cluster has no node with a CPU left")

    def _ask_for_progress(self) -> None:
        """Ask busy workers for their progress, now and then."""
        now = time.monotonic()
        if now - self._asked < max(PROGRESS_SECONDS, len(self.workers) / PROGRESS_CALLS_PER_SECOND):
            return
        self._asked = now
        for worker in self.workers:
            if worker.item is not None and not worker.asked:
                worker.asked = True
                call = worker.actor.progress.options(concurrency_group="progress").remote()
                self._calls[call] = worker, "progress"


def _check_installed(error: Exception) -> None:
    """Refuse a cluster with a node that lacks windtunnel: its workers cannot start."""
    if "No module named 'windtunnel" in str(error):
        raise UserError(
            "windtunnel is not installed on a node of the Ray cluster; install the same version in the "
            f"environment in which Ray runs there (here: Python {sys.version.split()[0]})."
        ) from error


def _reason(error: Exception, errors: Any) -> str:
    """Why a worker was lost, in a few words."""
    if isinstance(error, errors.OutOfMemoryError):
        return "its node ran out of memory"
    if isinstance(error, errors.ActorUnavailableError):
        return "its node does not answer"
    return "its process was killed, as the system does when memory is short"
