"""Plug-ins of the user's own: Python files, suites in TOML files, and folders of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from windtunnel.core.errors import UserError
from windtunnel.core.registry import include_python
from windtunnel.suites.registry import SUFFIX, include_suite, is_suite_file

_READERS: dict[str, Callable[[Path], list[str]]] = {".py": include_python, SUFFIX: include_suite}


def include(path: str | Path) -> list[str]:
    """Add the plug-ins that a user's file or folder declares; returns their names.

    A Python file declares plug-ins of any kind; those that it only imports are not added. A TOML file is a
    suite. Of a folder, all Python files and suites are included, except files whose names begin with `_` or
    `.`; other folders in it are not searched.
    """
    path = Path(path)
    if path.is_dir():
        return sorted({name for file in _plugin_files(path) for name in include(file)})
    if path.suffix in _READERS:
        return _READERS[path.suffix](path)
    if path.exists():
        raise UserError(f"{path} is not a plug-in; give a Python file, a suite (.toml) or a folder of these.")
    raise UserError(f"No such file: {path}.")


def include_files(paths: Iterable[str | Path]) -> None:
    """Add the plug-ins of the user's own files; refuses a file that declares none."""
    for path in paths:
        if not include(path):
            raise UserError(
                f"{path} declares no plug-in; declare a corruption, a sequence or another kind as "
                "CONTRIBUTING.md shows."
            )


def _plugin_files(folder: Path) -> list[Path]:
    """The Python files and the suites of a folder, sorted by name."""
    return [
        file
        for file in sorted(folder.iterdir())
        if file.suffix in _READERS
        and file.is_file()
        and not file.name.startswith(("_", "."))
        and (file.suffix != SUFFIX or is_suite_file(file))
    ]
