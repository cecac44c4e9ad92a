"""A training on a worker of an executor: one item, in another process or on another machine."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from windtunnel.core.errors import UserError
from windtunnel.core.registry import included_files
from windtunnel.data import Dataset
from windtunnel.engine.executors import Executor
from windtunnel.engine.jobs import Advance, ItemFunction, Needs, local_paths
from windtunnel.store.training_folder import read_history
from windtunnel.train.training_sets import sources_and_shares

LIBRARIES = ("windtunnel", "torch", "numpy")

R = TypeVar("R")


@dataclass(frozen=True)
class TrainingItem:
    """The one item of a training's job."""

    name: str

    @property
    def description(self) -> str:
        """What it is, in an error message."""
        return f"the training in {self.name}"


@dataclass(frozen=True)
class Training:
    """The job of a worker: train a module and write its folder.

    Attributes:
        function: what trains; called with the arguments and `advance`.
        arguments: the module, the data and the settings.
        needs: the data, and the folder that the worker writes to.
    """

    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    needs: Needs

    def begin(self) -> ItemFunction[TrainingItem]:
        """Nothing has to be loaded."""
        return self.train

    def train(self, item: TrainingItem, advance: Advance) -> Any:
        """Train; counts finished epochs."""
        del item
        return self.function(**self.arguments, advance=lambda _epoch, _loss: advance(1, 0))


def train_on_worker(
    function: Callable[..., R],
    arguments: Mapping[str, Any],
    folder: Path,
    advance: Callable[[int, float], None],
    executor: Executor,
    address: str | None,
) -> R:
    """Call a training function on a worker and return what it returns.

    Args:
        function: what trains; called with the arguments and `advance`.
        arguments: by name; `data` is what the worker reads.
        folder: the training's folder, which the worker writes.
        advance: called in this process with the number and the loss of every new epoch.
        executor: where the worker is.
        address: the cluster, for executors that take one.
    """
    sources, _ = sources_and_shares(arguments["data"])
    for data in sources:
        if isinstance(data, Dataset) and not data.portable:
            raise UserError(
                f"{data.location} is only in the memory of this process; give a file or folder for a "
                "training on another one."
            )
    folder.mkdir(parents=True, exist_ok=True)
    needs = Needs(
        included_files(),
        local_paths([data.location if isinstance(data, Dataset) else str(data) for data in sources]),
        folder.absolute(),
        {library: importlib.metadata.version(library) for library in LIBRARIES},
    )
    reported = len(read_history(folder))

    def report(_done: int, _failed: int) -> None:
        nonlocal reported
        history = read_history(folder)
        for epoch in range(reported, len(history)):
            advance(epoch + 1, history[epoch].loss)
        reported = max(reported, len(history))

    job = Training(function, arguments, needs)
    [(_, trained)] = executor.work(job, [TrainingItem(str(folder))], 1, report, address)
    report(0, 0)
    result: R = trained
    return result
