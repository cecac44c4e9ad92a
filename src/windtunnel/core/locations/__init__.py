"""Locations: where users' data, models and run folders are.

A location is a local path or an fsspec URL (`s3://bucket/folder`). Local paths stay `pathlib.Path`; a URL
is a `RemotePath`, which has the members of `Path` that readers need. `location_of` alone decides which it is.
Only the functions of this module and of `store/atomic_files.py` treat the two differently. fsspec is
imported at the first access to a URL.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from windtunnel.core.errors import UserError
from windtunnel.core.locations.remote import RemotePath
from windtunnel.core.locations.urls import is_url, refuse_shortened, split_url

Location = Path | RemotePath


class Entry(Protocol):
    """A file or folder in a folder: what `entries` returns."""

    @property
    def name(self) -> str: ...
    def is_dir(self) -> bool: ...
    def is_file(self) -> bool: ...


def location_of(source: str | Location) -> Location:
    """The location that a user names; what is read below a URL is listed once and does not change.

    Refuses URLs that contain a password or a signature.
    """
    if isinstance(source, str):
        return RemotePath(*split_url(source)) if is_url(source) else Path(source)
    if isinstance(source, Path):
        refuse_shortened(source)
    return source


def local_path(source: str | Location, what: str, instead: str = "") -> Path:
    """The path of something that must be on this machine; refuses URLs.

    `what` is its name in the message, and `instead` another advice than to give a local path.
    """
    location = location_of(source)
    if isinstance(location, Path):
        return location
    advice = f", or {instead}" if instead else ""
    raise UserError(f"The {what} {location} is a URL; give a local path{advice}.")


def live_location(source: str | Location) -> Location:
    """The location of a folder that is written to: every access to a URL asks the store again."""
    location = location_of(source)
    return location if isinstance(location, Path) else location.live()


def is_inside(location: Location, folder: str) -> bool:
    """Whether a location is an existing local folder or a URL, or inside it."""
    if isinstance(location, Path):
        return Path(folder).is_dir() and location.resolve().is_relative_to(Path(folder).resolve())
    return location.is_relative_to(folder)


def entries(folder: Location) -> list[Entry]:
    """The files and folders in a folder, in the order of their names."""
    found: Iterable[Entry]
    found = os.scandir(folder) if isinstance(folder, Path) else folder.entries()
    return sorted(found, key=lambda entry: entry.name)


def matching(folder: Location, pattern: str) -> list[Location]:
    """The locations in a folder whose name matches a pattern such as `*.npy`, in the order of names."""
    found: list[Location] = [*folder.glob(pattern)]
    return sorted(found, key=str)


def file_size(folder: Location, entry: Entry) -> int:
    """The size in bytes of an entry of a folder."""
    return entry.stat().st_size if isinstance(entry, os.DirEntry) else (folder / entry.name).stat().st_size


def local_file(file: Location, check_size: Callable[[int], None] = lambda _size: None) -> Path:
    """The local file with the content of a location; a remote file is downloaded into the cache.

    Args:
        file: where it is.
        check_size: raises an error for a remote file of too many bytes, before it is downloaded.
    """
    return file if isinstance(file, Path) else file.local_file(check_size)


def local_files(file: Location, needed: Callable[[Path], Iterable[str]]) -> Path:
    """The same for a file that is read together with others, which are put next to it.

    `needed` returns the paths of the others, relative to the file's folder; those that exist are fetched.
    """
    return file if isinstance(file, Path) else file.local_files(needed)
