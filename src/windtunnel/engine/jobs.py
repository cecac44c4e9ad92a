"""Jobs: what a worker does with work items, and how a job reaches another process."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from windtunnel.core.errors import RunFailed, UserError
from windtunnel.suites.units import include_units

# Receives how much of an item was finished since the last call, and how much of that failed.
Advance = Callable[[int, int], None]


class Item(Protocol):
    """A piece of work that one worker does as a whole: a chunk of images, a training.

    Attributes:
        name: its name, unique among the items of a job.
        description: what it is, in an error message: "the images from a.png to b.png".
    """

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...


I = TypeVar("I", bound=Item)  # noqa: E741
ItemIn = TypeVar("ItemIn", bound=Item, contravariant=True)
# What a worker does with an item.
ItemFunction = Callable[[I, Advance], Any]


class Job(Protocol[ItemIn]):
    """What workers receive once: `begin` prepares a process and returns what is done with an item.

    The result for an item must not depend on the worker, the order or the number of tries.

    Attributes:
        includes: files of the user's plug-ins, which a worker includes first.
    """

    @property
    def includes(self) -> tuple[Path, ...]: ...
    def begin(self) -> Callable[[ItemIn, Advance], Any]: ...


@dataclass(frozen=True)
class Sent:
    """Objects for another process, which must know the user's plug-ins to read them.

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


def worker_error(error: Exception) -> UserError | RunFailed:
    """The error to report for what a worker raised; a crash becomes one line with its place."""
    if isinstance(error, UserError | RunFailed):
        return error
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(where.filename).name}:{where.lineno}"
    return RunFailed(f"a worker crashed: {type(error).__name__}: {error} ({place})")
