"""Finds units by the names of their files and imports each on first use."""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import pkgutil
import sys
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Generic, TypeVar

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.seeding import digest64

T = TypeVar("T")

ENTRY_POINTS = "windtunnel.units"  # of corruptions, the first units there were


class Registry(Generic[T]):
    """The units of one kind: one file each in a package, plus those users bring.

    A unit is an object named like its file. Outside units come from an entry-point group of their kind
    (entry name = unit name) or from a file given to `include`.
    """

    def __init__(
        self,
        kind: str,
        package: str,
        type_: type[T],
        command: str,
        origin: Callable[[T], str],
        entry_points: str = ENTRY_POINTS,
    ) -> None:
        """`origin` gives the module a unit was written in, so that an imported unit is not taken for new."""
        self.kind = kind
        self._origin = origin
        self._package = package
        self._type = type_
        self._command = command
        self._group = entry_points
        self._included: dict[str, T] = {}
        self._found: dict[str, T] = {}

    def names(self) -> list[str]:
        """Every unit's name, sorted; nothing is imported."""
        return sorted({*self._shipped, *self._included, *self._entry_points})

    def shipped(self) -> list[str]:
        """The names of the units that come with the package, sorted."""
        return sorted(self._shipped)

    def get(self, name: str) -> T:
        """The unit of that name."""
        if name not in self._found:
            self._found[name] = self._checked(self._load(name), name)
        return self._found[name]

    def _load(self, name: str) -> object:
        if name in self._shipped:
            return getattr(importlib.import_module(f"{self._package}.{name}"), name)
        if name in self._entry_points:
            return self._entry_points[name].load()
        raise unknown_name(self.kind, name, self.names(), self._command)

    def include(self, path: Path) -> list[str]:
        """Add the units of this kind that a Python file of the user's defines; returns their names."""
        module = import_file(path)
        found = {
            name: unit
            for name, unit in vars(module).items()
            if isinstance(unit, self._type) and self._origin(unit) == module.__name__
        }
        for name in found:
            if name in self._shipped:
                raise UserError(
                    f"{path} defines '{name}', which windtunnel already has; choose another name."
                )
        self._included.update(found)
        self._found.update(found)
        return sorted(found)

    @cached_property
    def _shipped(self) -> set[str]:
        paths = importlib.import_module(self._package).__path__
        return {module.name for module in pkgutil.iter_modules(paths)}

    @cached_property
    def _entry_points(self) -> dict[str, importlib.metadata.EntryPoint]:
        return {entry.name: entry for entry in importlib.metadata.entry_points(group=self._group)}

    def _checked(self, unit: object, name: str) -> T:
        if not isinstance(unit, self._type):
            raise UserError(f"'{name}' is a {type(unit).__name__}, not a {self.kind}; see CONTRIBUTING.md.")
        return unit


def import_file(path: Path) -> ModuleType:
    """Import a Python file by its path; the same file gives the same module until it is edited."""
    path = path.resolve()
    if not path.is_file():
        raise UserError(f"No such file: {path}.")
    content = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
    name = f"windtunnel_included_{path.stem}_{digest64(str(path), content):016x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path} is not a Python file; give a file that ends in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # for the file's neighbours
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise UserError(f"{path} cannot be imported: {type(error).__name__}: {error}.") from error
    return module
