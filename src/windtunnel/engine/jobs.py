"""Jobs: what a worker does with work items, what it needs for them, and how a job reaches another process."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from windtunnel.core.errors import RunFailed, UserError
from windtunnel.core.locations.urls import is_url
from windtunnel.core.registry import include_python

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


@dataclass(frozen=True)
class Needs:
    """What a job needs where it is done, besides windtunnel.

    Attributes:
        includes: files of the user's plug-ins; their content is sent to workers.
        inputs: files and folders that workers read; a worker on another machine needs them at the same paths.
        output: the folder that workers write to, if they write: all of them must see the same folder.
        versions: versions of libraries that decide the results, by name on PyPI.
    """

    includes: tuple[Path, ...] = ()
    inputs: tuple[Path, ...] = ()
    output: Path | None = None
    versions: Mapping[str, str] = field(default_factory=dict)


class Job(Protocol[ItemIn]):
    """What workers receive once: `begin` prepares a process and returns what is done with an item.

    The result for an item must not depend on the worker, the order or the number of tries.

    Attributes:
        needs: what a worker must find where it runs.
    """

    @property
    def needs(self) -> Needs: ...
    def begin(self) -> Callable[[ItemIn, Advance], Any]: ...


@dataclass(frozen=True)
class Sent:
    """Objects for another process, which must know the user's plug-ins to read them.

    Attributes:
        includes: files of the plug-ins and their content.
        content: the pickled objects.
    """

    includes: tuple[tuple[Path, bytes], ...]
    content: bytes

    @classmethod
    def packed(
        cls, value: object, includes: Iterable[Path], dumps: Callable[[object], bytes] = pickle.dumps
    ) -> Sent:
        """Objects and the plug-in files they may refer to, ready to be sent."""
        return cls(tuple((path, path.read_bytes()) for path in includes), dumps(value))

    def received(self) -> Any:
        """The objects; a dataset may be of a class that only an included file defines."""
        for path, content in self.includes:
            include_python(path, content)
        return pickle.loads(self.content)


def local_paths(texts: Iterable[str]) -> tuple[Path, ...]:
    """The full paths of those texts that name a file or folder of this machine; URLs are left out.

    The part of an archive (`file.npz#part`) and the factory of a model (`file.py:factory`) are left out.
    """
    found: dict[Path, None] = {}
    for text in texts:
        if is_url(text):
            continue
        for written in (text, text.partition("#")[0], text.rpartition(":")[0]):
            if written and Path(written).exists():
                found[Path(written).absolute()] = None
                break
    return tuple(found)


def worker_error(error: Exception) -> UserError | RunFailed:
    """The error to report for what a worker raised; a crash becomes one line with its place."""
    if isinstance(error, UserError | RunFailed):
        return error
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(where.filename).name}:{where.lineno}"
    return RunFailed(f"a worker crashed: {type(error).__name__}: {error} ({place})")
