"""Atomic writes, and locks of folders that one process writes at a time.

In a store that a URL names there are no locks and no renames. A write is whole or not at all there, and
`create_file` never replaces what another process has written.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from windtunnel.core.errors import UserError
from windtunnel.core.locations import Location

LOCK_FILE = "lock"
UNFINISHED = ".unfinished"


@contextmanager
def locked(folder: Location, lock: str = LOCK_FILE) -> Iterator[None]:
    """Hold a folder's lock, which the system frees even after a kill; removes unfinished files.

    A remote folder has no lock: every process writes the same content under the same name.
    """
    if not isinstance(folder, Path):
        yield
        return
    try:
        (folder / lock).parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / lock, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"{folder} cannot be written: {reason}; choose another folder.") from error
    try:
        if not _try_lock(handle):
            raise UserError(
                f"{folder} is being written by another windtunnel; wait or choose another folder."
            )
        for leftover in folder.rglob(f"*{UNFINISHED}"):
            leftover.unlink()
        yield
    finally:
        os.close(handle)


def write_whole(path: Location, content: bytes, *, durable: bool = True) -> None:
    """Write or replace a file atomically; errors name the file itself.

    A local file is written under another name and renamed; `durable` waits until it is on the disk.
    """
    if not isinstance(path, Path):
        path.write_bytes(content)
        return
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        with unfinished.open("wb") as stream:
            stream.write(content)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        unfinished.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def writing_whole(path: Location) -> Iterator[BinaryIO]:
    """A stream whose content becomes the file when the block ends without an error, and is lost otherwise."""
    if not isinstance(path, Path):
        with tempfile.TemporaryFile() as stream:
            yield cast(BinaryIO, stream)
            stream.seek(0)
            path.write_bytes(stream.read())
        return
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        with unfinished.open("wb") as stream:
            yield stream
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def create_file(path: Location, content: bytes) -> bool:
    """Write a file unless it exists already, and return whether it was written.

    Of local files this holds under the folder's lock; a store itself decides which of two writers is first.
    """
    if isinstance(path, Path):
        if path.exists():
            return False
        write_whole(path, content)
        return True
    try:
        path.create(content)
    except FileExistsError:
        return False
    return True


def refuse_unwritable(folder: Location, what: str) -> None:
    """Refuse a folder that is a file or cannot be written; a store itself refuses the first file."""
    if not isinstance(folder, Path):
        folder.refuse_read_only()
        return
    parent = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; give a folder for the {what}.")
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        reason = "not writable" if parent.is_dir() else "no folder"
        raise UserError(f"{folder} cannot be written ({parent} is {reason}); give another folder.")


def _try_lock(handle: int) -> bool:
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows has no such module
        return _try_lock_windows(handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _try_lock_windows(handle: int) -> bool:
    import msvcrt

    lock: Any = msvcrt
    try:
        lock.locking(handle, lock.LK_NBLCK, 1)
    except OSError:
        return False
    return True
