"""Atomic writes, and locks of folders that one process writes at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from windtunnel.core.errors import UserError

LOCK_FILE = "lock"
UNFINISHED = ".unfinished"


@contextmanager
def locked(folder: Path, lock: str = LOCK_FILE) -> Iterator[None]:
    """Hold a folder's lock, which the system frees even after a kill; removes unfinished files."""
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


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically, under another name first; errors name the file itself."""
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        with unfinished.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


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
