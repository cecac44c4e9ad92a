"""Work in this process, one item after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.core.interruption import stop_requested
from windtunnel.core.option_names import option
from windtunnel.engine.executors import PROCESSES, Executor
from windtunnel.engine.jobs import Advance, I, Job
from windtunnel.engine.process_start import opencv_on_one_thread


class InProcess(Executor):
    """One worker: this process."""

    name = "in-process"
    help = "One item after another in this process."
    separate = False

    def worker_count(self, asked: int | None, address: str | None) -> int:
        """One; more are refused."""
        del address
        if asked is not None and asked > 1:
            raise UserError(
                f"{option('workers')} is {asked}, but {option('executor', self.name)} has one worker; use "
                f"{option('executor', PROCESSES)}."
            )
        return 1

    def work(
        self, job: Job[I], items: Sequence[I], workers: int, advance: Advance, address: str | None
    ) -> Iterator[tuple[I, Any]]:
        """Do the items in their order."""
        del workers, address
        with opencv_on_one_thread():
            do = job.begin()
            for item in items:
                if stop_requested():
                    return
                yield item, do(item, advance)


in_process = InProcess()
