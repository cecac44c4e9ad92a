"""Executors: where work items are done, one file each.

An executor takes a job, its items and a number of workers, and yields the result of every item as it is
finished. It knows nothing of models, labels or folders.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.registry import Plugin, Registry
from windtunnel.engine.jobs import Advance, I, Job

IN_PROCESS = "in-process"
PROCESSES = "processes"


class Executor(Plugin):
    """Where work items are done. A subclass declares facts and `work`.

    Attributes:
        name: what users write.
        help: a description in one line.
        extra: the library that it needs and that does not come with windtunnel, if any.
        separate: whether items are done in other processes, so that job, items and results are pickled.
        takes_address: whether it connects to a cluster, whose address users may give.
    """

    name: str = ""
    help: str = ""
    extra: str = ""
    separate: bool = True
    takes_address: bool = False

    def __init__(self) -> None:
        no_work = type(self).work is Executor.work
        self.refuse_incomplete(
            ("name", "help"), ["work(job, items, workers, advance, address)"] if no_work else []
        )

    def worker_count(self, asked: int | None, address: str | None) -> int:
        """The number of workers: as asked, or one per processor core."""
        del address
        return asked or os.cpu_count() or 1

    def work(
        self, job: Job[I], items: Sequence[I], workers: int, advance: Advance, address: str | None
    ) -> Iterator[tuple[I, Any]]:
        """Do every item and yield it with its result as it is finished, in any order.

        Args:
            job: sent to every worker once; `begin` returns what is done with an item.
            items: the work.
            workers: the number of workers; fewer items need fewer.
            advance: called in this process with the progress of all items.
            address: the cluster, for executors that take one; None for one of their own.

        Raises:
            UserError: an item shows a mistake in the input.
            RunFailed: an item cannot be done, or no worker is left. Items that were yielded stay done.
        """
        raise NotImplementedError


REGISTRY: Registry[Executor] = Registry("executor", __name__, Executor, separator="-")


@dataclass(frozen=True)
class Workers:
    """The workers that a caller asks for.

    Attributes:
        count: how many.
        executor: the name of a plug-in; None takes this process for one worker or one item, else processes.
        address: the cluster, for executors that take one.
    """

    count: int = 1
    executor: str | None = None
    address: str | None = None

    def check(self, *, portable: bool, live: str) -> None:
        """Refuse what does not fit together.

        Args:
            portable: whether the job can be sent to another process.
            live: what cannot be sent otherwise.
        """
        if self.count < 1:
            raise UserError(f"{option('workers')} is {self.count}; give at least 1.")
        chosen = checked_executor(self.executor, self.address)
        if chosen:
            chosen.worker_count(self.count, self.address)
        if portable:
            return
        if chosen and chosen.separate:
            raise UserError(
                f"{live} cannot be sent to another process, as {option('executor', chosen.name)} does; use "
                f"{option('executor', IN_PROCESS)}."
            )
        if self.count > 1:
            raise UserError(f"{live} cannot be sent to worker processes; use {option('workers', 1)}.")

    def executor_for(self, items: int) -> Executor:
        """The executor for so many items."""
        automatic = PROCESSES if self.count > 1 and items > 1 else IN_PROCESS
        return REGISTRY.get(self.executor or automatic)


def checked_executor(name: str | None, address: str | None) -> Executor | None:
    """The executor that a user names; None for none. Refuses an unknown name and a needless address."""
    chosen = None if name is None else REGISTRY.get(name)
    if address is not None and not (chosen and chosen.takes_address):
        takes = [executor.name for executor in REGISTRY.all() if executor.takes_address]
        given = f"{option('executor', name)} takes none" if name else f"{option('executor')} is not given"
        advice = f"; use {' or '.join(option('executor', one) for one in takes)}" if takes else ""
        raise UserError(f"{option('address')} is given, but {given}{advice}.")
    return chosen


class WorkerOptions(Protocol):
    """The options of runs and sets that choose workers."""

    @property
    def workers(self) -> int | None:
        """How many; None for the default."""

    @property
    def executor(self) -> str | None:
        """The name of an executor; None for the default."""

    @property
    def address(self) -> str | None:
        """The cluster, for executors that take one."""


def usable_workers(items: int, options: WorkerOptions, *, portable: bool) -> int:
    """The number of workers for so many items: as asked, or all that the executor has; at most one per item.

    One if the job cannot be sent to another process.
    """
    chosen = checked_executor(options.executor, options.address)
    if not portable:
        return 1
    executor = chosen or REGISTRY.get(PROCESSES)
    return min(executor.worker_count(options.workers, options.address), items)


def python_workers(items: int, options: WorkerOptions, *, portable: bool) -> int:
    """The number of workers of a call in Python: as asked, else one, or all of a named executor."""
    if options.workers is not None:
        return options.workers
    return 1 if options.executor is None else usable_workers(items, options, portable=portable)
