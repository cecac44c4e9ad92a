"""Suites by name: TOML files that come with windtunnel, with another package, or from the user."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.core.registry import Plugin, Registry

SUFFIX = ".toml"
NEEDED = ("name", "version")


@dataclass(frozen=True)
class SuiteFile(Plugin):
    """The TOML file of a suite, parsed; `suite_files.load_suite` checks its keys.

    Attributes:
        name: the suite's name, from the file.
        table: the content of the file.
        folder: where files that it extends are.
        where: the file, for messages.
    """

    name: str
    table: dict[str, Any]
    folder: Traversable
    where: str


class SuiteRegistry(Registry[SuiteFile]):
    """The suites by name. Those of other packages are resources next to the module of an entry point."""

    @cached_property
    def _shipped(self) -> dict[str, str]:
        """Name to file name of the suites that come with windtunnel."""
        names = [entry.name for entry in files(self._package).iterdir() if entry.name.endswith(SUFFIX)]
        return {name.removesuffix(SUFFIX): name for name in names}

    def _load_shipped(self, stem: str) -> SuiteFile:
        folder = files(self._package)
        return _parsed(folder, folder / stem, f"suite {stem.removesuffix(SUFFIX)}")

    def _load_entry_point(self, entry: importlib.metadata.EntryPoint) -> SuiteFile:
        """The suite of `PACKAGE`, in the file `<name>.toml`, or of `PACKAGE:FILE.toml`."""
        folder, file = _resources(entry.module), entry.attr or f"{entry.name}{SUFFIX}"
        if folder is None or not (folder / file).is_file():
            raise UserError(
                f"The entry point {entry.name} = {entry.value} of windtunnel.suites leads to no file {file}; "
                f"write the package that contains {file}, or PACKAGE:FILE.toml."
            )
        suite = _parsed(folder, folder / file, f"suite {entry.name}")
        if suite.name != entry.name:
            raise UserError(
                f"The entry point {entry.name} = {entry.value} of windtunnel.suites leads to the suite "
                f"'{suite.name}'; give both the same name."
            )
        return suite


SUITES = SuiteRegistry("suite", "windtunnel.suites", SuiteFile)


def read_suite_file(folder: Traversable, file: str) -> SuiteFile:
    """The suite in a file, whose path is relative to a folder."""
    path = folder / file
    if not path.is_file():
        raise UserError(f"No such suite file: {path}.")
    return _parsed(path.parent if isinstance(path, Path) else folder, path, str(path))


def include_suite(path: Path) -> list[str]:
    """Make the suite in a file known by its name; returns the name."""
    suite = read_suite_file(path.parent, path.name)
    if not re.fullmatch(r"[\w.-]+", suite.name) or suite.name.endswith(SUFFIX):
        raise UserError(
            f"{path} names its suite '{suite.name}'; give a name of letters, digits and hyphens, such as "
            "'my-suite'."
        )
    SUITES.add(suite, path)
    return [suite.name]


def is_suite_file(path: Path) -> bool:
    """Whether a TOML file contains a suite, which has a name and a version, and not a model or a run."""
    return all(key in _table(path, str(path)) for key in NEEDED)


def _parsed(folder: Traversable, file: Traversable, where: str) -> SuiteFile:
    table = _table(file, where)
    for key in NEEDED:
        if key not in table:
            raise UserError(f"{where} has no '{key}'; a suite needs a name and a version.")
    return SuiteFile(str(table["name"]), table, folder, where)


def _table(file: Traversable, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{where} is not valid TOML: {error}.") from error


def _resources(module: str) -> Traversable | None:
    """The folder of a package, or the one that contains a module; None for what cannot be found."""
    try:
        spec = importlib.util.find_spec(module)
    except ImportError:
        return None
    if spec is None:
        return None
    return files(module if spec.submodule_search_locations is not None else spec.parent or module)
