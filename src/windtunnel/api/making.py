"""Write corrupted datasets, and verify them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.core.locations import Location, live_location, location_of
from windtunnel.core.progress import Progress, silent
from windtunnel.core.registry import included_files
from windtunnel.data import Dataset, open_dataset
from windtunnel.data.manifest import Manifest
from windtunnel.engine.executors import Workers, checked_executor, python_workers, usable_workers
from windtunnel.make.plan import MakePlan, plan_make
from windtunnel.make.set_writer import check_target, make
from windtunnel.make.verification import Verification, verify
from windtunnel.options import MakeOptions
from windtunnel.suites.inclusion import include_files
from windtunnel.suites.suite import Suite


def make_set(
    suite: str | Path | Suite,
    data: str | Location | Dataset,
    out: str | Location,
    options: MakeOptions = MakeOptions(),  # noqa: B008 (frozen)
    *,
    progress: Progress = silent,
    **changes: Any,
) -> Location:
    """Write a corrupted dataset in a published layout; an existing one is continued and repaired.

    Args:
        suite: `imagenet-c` or `imagenet-p` (with their four extra units, as published), `imagenet-s`, another
            suite, or a TOML file.
        data: the clean images.
        out: the set's folder.
        options: layout, units and other options; see `windtunnel.options.MakeOptions`.
        progress: counts written images.
        changes: single options by name, such as `layout="arrays"`; they override `options`.

    Returns:
        The set's folder, which `open_dataset` and `run` accept.
    """
    prepared = prepare_set(suite, data, out, options.with_changes(changes))
    prepared.make(prepared.default_workers, progress)
    return prepared.folder


@dataclass(frozen=True)
class PreparedSet:
    """The plan of a set, and the folder it writes to."""

    plan: MakePlan
    folder: Location
    options: MakeOptions

    @property
    def workers(self) -> int:
        """The number of workers: as requested, or one per processor core; at most one per chunk."""
        return usable_workers(len(self.plan.chunks), self.options, portable=self.plan.dataset.portable)

    @property
    def default_workers(self) -> int:
        """The number of workers in Python: as requested, else one, or all of a named executor."""
        return python_workers(len(self.plan.chunks), self.options, portable=self.plan.dataset.portable)

    def make(self, workers: int, progress: Progress = silent, checking: Progress = silent) -> Manifest:
        """Write missing and damaged chunks; `checking` counts stored chunks that were verified."""
        return make(
            self.plan,
            self.folder,
            workers=Workers(workers, self.options.executor, self.options.address),
            includes=included_files(),
            checking=checking,
            progress=progress,
        )


def prepare_set(
    suite: str | Path | Suite,
    data: str | Location | Dataset,
    out: str | Location,
    options: MakeOptions,
    progress: Progress = silent,
) -> PreparedSet:
    """Check the inputs of a set and plan it; the method `make` of the result writes it."""
    folder = live_location(out)
    include_files(options.include)
    checked_executor(options.executor, options.address)
    planned = plan_make(suite, open_dataset(data), options, progress)
    check_target(planned, folder)
    return PreparedSet(planned, folder, options)


def verify_set(folder: str | Location, *, progress: Progress = silent) -> Verification:
    """Compare every file of a made set with its checksum; nothing is changed.

    Args:
        folder: a folder that `make_set` wrote.
        progress: counts checked files.
    """
    return verify(location_of(folder), progress)
