"""Finds plug-ins by the names of their files and imports each on first use."""

from __future__ import annotations

import atexit
import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import pkgutil
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.extras import install_hint
from windtunnel.core.file_digests import named_files_digest
from windtunnel.core.seeding import digest64


class Plugin:
    """Something that windtunnel finds by name, declared in its own file together with its facts.

    Every kind of plug-in is a subclass that has a `name`. Shipped ones are in the folder of their kind.
    Others come from an entry point of the group `windtunnel.<kind>s` or from a file given to `--include`.
    """

    if TYPE_CHECKING:  # a property would be the default value of a dataclass field

        @property
        def name(self) -> str:
            """The name that users write."""

    @cached_property
    def is_shipped(self) -> bool:
        """Whether its code comes with windtunnel: its function, or else its class."""
        return str(getattr(self, "function", type(self)).__module__).startswith("windtunnel.")

    def refuse_incomplete(self, facts: Iterable[str], missing: Iterable[str] = ()) -> None:
        """Refuse a plug-in that does not declare one of the facts, or something else that is `missing`."""
        lacking = [*(fact for fact in facts if not getattr(self, fact)), *missing]
        if lacking:
            raise UserError(
                f"The {registry_of(self).kind} '{self.name or type(self).__name__}' declares no "
                f"{', '.join(lacking)}; see CONTRIBUTING.md."
            )


P = TypeVar("P", bound=Plugin)


class Registry(Generic[P]):
    """The plug-ins of one kind, by name; each is imported on first use.

    A shipped plug-in is the object that has the name of its file. In names, `separator` replaces the
    underscores of the file name. In a `nested` registry, a folder of the package is a prefix of names:
    `s2n/blur` is the object `blur` of `s2n/blur.py`.
    """

    def __init__(
        self, kind: str, package: str, type_: type[P], *, separator: str = "_", nested: bool = False
    ) -> None:
        self.kind = kind
        self._package = package
        self._type = type_
        self._separator = separator
        self._nested = nested
        self._added: dict[str, Path] = {}
        self._loaded: dict[str, P] = {}
        _REGISTRIES[type_] = self

    @property
    def command(self) -> str:
        """The command that lists the plug-ins of this kind."""
        return f"windtunnel list {self.plural.replace(' ', '-')}"

    @property
    def plural(self) -> str:
        """The kind in the plural: `wrappers`, `losses`."""
        return f"{self.kind}es" if self.kind.endswith("s") else f"{self.kind}s"

    def names(self) -> list[str]:
        """Every plug-in's name, sorted; nothing is imported."""
        return sorted({*self._shipped, *self._added, *self._entry_points})

    def __contains__(self, name: str) -> bool:
        """Whether there is a plug-in of that name."""
        return name in self._shipped or name in self._added or name in self._entry_points

    def shipped(self) -> list[str]:
        """The names of the plug-ins that come with windtunnel, sorted."""
        return sorted(self._shipped)

    def get(self, name: str) -> P:
        """The plug-in of that name."""
        if name not in self._loaded:
            self._loaded[name] = self._checked(self._load(name), name)
        return self._loaded[name]

    def all(self) -> list[P]:
        """Every plug-in, in the order of the names."""
        return [self.get(name) for name in self.names()]

    def add(self, plugin: P, source: Path) -> None:
        """Add a plug-in that the file `source` declares; a name that something else has is refused.

        The same file may be added again after an edit.
        """
        earlier = self._added.get(plugin.name)
        replaced = earlier is not None and (not earlier.is_file() or earlier.samefile(source))
        if plugin.name in self and not replaced:
            raise UserError(
                f"{source} declares the {self.kind} '{plugin.name}', which {self.source(plugin.name)} "
                "already has; choose another name."
            )
        self._added[plugin.name] = source.resolve()
        self._loaded[plugin.name] = plugin

    def source(self, name: str) -> str:
        """Where a plug-in comes from: `windtunnel`, the name of another package, or a file; "" if unknown."""
        if name in self._added:
            file, here = self._added[name], Path.cwd()
            return str(file.relative_to(here) if file.is_relative_to(here) else file)
        if name in self._shipped:
            return "windtunnel"
        return ", ".join(map(_package_of, self._entry_points.get(name, ())))

    def _load(self, name: str) -> object:
        entries = self._entry_points.get(name, [])
        owners = ["windtunnel"] * (name in self._shipped) + [_package_of(entry) for entry in entries]
        if len(owners) > 1:
            raise UserError(
                f"The {self.kind} '{name}' is declared by {' and '.join(owners)}; uninstall the package that "
                "you do not need, or give the plug-in another name."
            )
        if name in self._shipped:
            return self._load_shipped(self._shipped[name])
        if entries:
            return self._load_entry_point(entries[0])
        raise unknown_name(self.kind, name, self.names(), self.command)

    def _load_shipped(self, stem: str) -> object:
        module = importlib.import_module(f"{self._package}.{stem.replace('/', '.')}")
        return getattr(module, stem.rpartition("/")[2])

    def _load_entry_point(self, entry: importlib.metadata.EntryPoint) -> object:
        return entry.load()

    @cached_property
    def _shipped(self) -> dict[str, str]:
        """Name to file name of the plug-ins that come with windtunnel; nothing is imported."""
        paths = list(importlib.import_module(self._package).__path__)
        stems = []
        for module in pkgutil.iter_modules(paths):
            if module.ispkg and self._nested:
                folders = [str(Path(path, module.name)) for path in paths]
                stems += [f"{module.name}/{inner.name}" for inner in pkgutil.iter_modules(folders)]
            else:
                stems.append(module.name)
        return {stem.replace("_", self._separator): stem for stem in stems}

    @cached_property
    def _entry_points(self) -> dict[str, list[importlib.metadata.EntryPoint]]:
        entries: dict[str, list[importlib.metadata.EntryPoint]] = {}
        for entry in importlib.metadata.entry_points(group=f"windtunnel.{self.plural.replace(' ', '_')}"):
            entries.setdefault(entry.name, []).append(entry)
        return entries

    def _checked(self, plugin: object, name: str) -> P:
        if not isinstance(plugin, self._type):
            raise UserError(f"'{name}' is a {type(plugin).__name__}, not a {self.kind}; see CONTRIBUTING.md.")
        if plugin.name != name:
            raise UserError(
                f"The {self.kind} '{name}' declares the name '{plugin.name}'; give it the name of its file "
                f"or entry point, '{name}'."
            )
        return plugin


# The registry of each type of plug-in, added when its package is imported.
_REGISTRIES: dict[type[Plugin], Registry[Any]] = {}
# The files included in this process, in order.
_INCLUDED: dict[Path, None] = {}


def include_python(path: Path, content: bytes | None = None) -> list[str]:
    """Add the plug-ins of any kind that a user's Python file declares; returns their names.

    Plug-ins that the file only imports are not added.

    Args:
        path: the file.
        content: its content, if the file is on another machine; `path` is its full path there.
    """
    module = import_file(path, content)
    declared = [value for value in vars(module).values() if isinstance(value, Plugin)]
    imported = {
        id(value)
        for name, other in list(sys.modules.items())
        if other is not module and name.startswith("windtunnel")
        for value in list(vars(other).values())
        if isinstance(value, Plugin)
    }
    plugins = {id(plugin): plugin for plugin in declared if id(plugin) not in imported}.values()
    for plugin in plugins:
        registry_of(plugin).add(plugin, path)
    if plugins:
        _INCLUDED[path.resolve()] = None
    return sorted(plugin.name for plugin in plugins)


def included_files() -> tuple[Path, ...]:
    """The files whose plug-ins this process has included; a worker must include them too."""
    return tuple(path for path in _INCLUDED if path.is_file())


def file_of(function: Callable[..., object]) -> dict[str, str]:
    """The name and digest of the file that defines a function: the identity of a third-party plug-in."""
    path = Path(inspect.getfile(function))
    return {path.name: named_files_digest([path])}


def _package_of(entry: importlib.metadata.EntryPoint) -> str:
    """The name of the installed package that publishes an entry point."""
    return entry.dist.name if entry.dist else entry.value


def registry_of(plugin: Plugin) -> Registry[Any]:
    """The registry of a plug-in's kind."""
    for type_ in type(plugin).__mro__:
        if type_ in _REGISTRIES:
            return _REGISTRIES[type_]
    raise UserError(f"'{plugin.name}' is a {type(plugin).__name__}, which is not a kind of plug-in.")


def import_file(path: Path, content: bytes | None = None) -> ModuleType:
    """Import a Python file by its path; an unchanged file gives the same module.

    Given the content of a file of another machine, the module has the same name as there, so that objects of
    its classes can be sent. The file itself is read if it is here and has that content; else a copy is.
    """
    if content is None:
        path = path.resolve()
        if not path.is_file():
            raise UserError(f"No such file: {path}.")
        content = path.read_bytes()
    digest = hashlib.blake2b(content, digest_size=16).hexdigest()
    name = f"windtunnel_included_{path.stem}_{digest64(str(path), digest):016x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, _local_file(path, content))
    if spec is None or spec.loader is None:
        raise UserError(f"{path} is not a Python file; give a file that ends in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # for modules in the same folder
    try:
        spec.loader.exec_module(module)
    except UserError as error:  # from a declaration
        del sys.modules[name]
        raise UserError(f"{path}: {error}") from error
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise UserError(
            f"{path} cannot be imported: {type(error).__name__}: {error}.{install_hint(error)}"
        ) from error
    return module


def _local_file(path: Path, content: bytes) -> Path:
    """The file, or a copy with that content which is deleted when this process ends."""
    if path.is_file() and path.read_bytes() == content:
        return path
    folder = tempfile.mkdtemp(prefix="windtunnel-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy = Path(folder, path.name)
    copy.write_bytes(content)
    return copy
