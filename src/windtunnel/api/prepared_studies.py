"""Studies that are checked and can be run: the number of their workers."""

from __future__ import annotations

from windtunnel.engine.executors import (
    WorkerOptions,
    Workers,
    checked_executor,
    python_workers,
    usable_workers,
)
from windtunnel.options import ExperimentOptions, OverlapOptions, SubtypeOptions
from windtunnel.suites.inclusion import include_files


class PreparedModels:
    """The models of a study that is checked and can be run.

    A subclass has the options, and overrides `models` and `portable`.
    """

    options: WorkerOptions

    @property
    def models(self) -> int:
        """The number of models that are trained."""
        raise NotImplementedError

    @property
    def portable(self) -> bool:
        """Whether other processes can open the data."""
        raise NotImplementedError

    @property
    def workers(self) -> int:
        """The number of workers: as requested, or one per processor core; at most one per model."""
        return usable_workers(self.models, self.options, portable=self.portable)

    @property
    def default_workers(self) -> int:
        """The number of workers in Python: as requested, else one, or all of a named executor."""
        return python_workers(self.models, self.options, portable=self.portable)

    def _workers(self, count: int) -> Workers:
        return Workers(count, self.options.executor, self.options.address)


def check_plugins(options: ExperimentOptions | OverlapOptions | SubtypeOptions) -> None:
    """Load the plug-in files of a study, and refuse an unknown executor."""
    include_files(options.include)
    checked_executor(options.executor, options.address)
