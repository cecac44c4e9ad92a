"""A worker on a Ray cluster: an actor that holds a job and does one item at a time.

This module is imported on every node; it does not import Ray.
"""

from __future__ import annotations

import os
import pickle
import socket
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from windtunnel.core.errors import RunFailed, UserError
from windtunnel.core.extras import installed_version
from windtunnel.engine.jobs import ItemFunction, Job, Sent, worker_error

# What a call of a worker returns: a result, or the error that ends the work.
Reply = tuple[Literal["done"], Any] | tuple[Literal["failed"], UserError | RunFailed]
# Finished and failed parts of an item.
Counts = tuple[int, int]


@dataclass(frozen=True)
class Setup:
    """What every worker is sent.

    Attributes:
        sent: the job and the user's plug-ins.
        inputs: files and folders that must exist on the node.
        output: the folder that workers write to, which must be the same on all nodes.
        versions: versions of libraries that decide the results.
        folder: the working folder of the caller, for relative paths.
        search_path: where the caller's Python looks for modules.
    """

    sent: Sent
    inputs: tuple[Path, ...]
    output: Path | None
    versions: Mapping[str, str]
    folder: str
    search_path: tuple[str, ...]


class RayWorker:
    """The actor; `progress` may be called while `do` is at work."""

    def __init__(self) -> None:
        self._do: ItemFunction[Any] | None = None
        self._lock = threading.Lock()
        self._name = ""
        self._counts: Counts = 0, 0

    def begin(self, setup: Setup, mark: Path | None) -> Reply:
        """Check what the job needs on this node and get ready.

        Args:
            setup: the job and its needs.
            mark: a file that the caller made in the output folder, if workers write there.
        """
        try:
            if Path(setup.folder).is_dir():
                os.chdir(setup.folder)
            known = set(sys.path)
            sys.path += [entry for entry in setup.search_path if entry not in known]
            _check_node(setup, mark)
            job: Job[Any] = setup.sent.received()
            self._do = job.begin()
            from windtunnel.engine.process_start import single_threaded

            single_threaded()
        except Exception as error:  # must reach the caller in words
            return "failed", worker_error(error)
        return "done", None

    def do(self, name: str, item: bytes) -> Reply:
        """Do an item; returns the pickled result and the counts of all its progress."""
        with self._lock:
            self._name, self._counts = name, (0, 0)
        try:
            if self._do is None:
                raise RunFailed("a worker was given work before it was ready")
            result = pickle.dumps(self._do(pickle.loads(item), self._advance), pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # must reach the caller in words
            return "failed", worker_error(error)
        return "done", (result, self._counts)

    def progress(self) -> tuple[str, Counts]:
        """The name of the last item and the progress of it so far."""
        with self._lock:
            return self._name, self._counts

    def _advance(self, done: int, failed: int) -> None:
        with self._lock:
            self._counts = self._counts[0] + done, self._counts[1] + failed


def _check_node(setup: Setup, mark: Path | None) -> None:
    """Refuse a node that lacks a file, does not share the output folder or has other libraries."""
    node = f"node {socket.gethostname()}"
    for path in setup.inputs:
        if not path.exists():
            raise UserError(
                f"{path} does not exist on {node}, where Ray started a worker. Put it on a file system that "
                "all nodes share, or copy it to the same path on every node."
            )
    if mark is not None and not mark.exists():
        raise UserError(
            f"{setup.output} on {node} is not the folder of this machine, and workers write to it. Give a "
            "folder on a file system that all nodes share."
        )
    for library, version in setup.versions.items():
        installed = installed_version(library)
        if installed != version:
            raise UserError(
                f"{library} is {installed} on {node} and {version} on this machine, so results would differ. "
                "Install the same versions on all nodes."
            )
