"""The local cache of remote files: each version is downloaded once, and checked whenever it is read.

    remote/<2 digits>/<digest of URL and version>       the content
    remote/<2 digits>/<digest of URL and version>.sum   its BLAKE2b digest
    remote/together/<digest>/                           copies of files that are opened together

A file is written under a name of its own and renamed, so that any number of processes can fill the cache at
once. Everything in it may be deleted at any time.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sys
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from windtunnel.core.errors import RunFailed
from windtunnel.core.locations.listing import Version

VARIABLE = "WINDTUNNEL_CACHE"
BLOCK = 1 << 20
# Reasons why the cache itself cannot be written.
_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.ENOTDIR)
# Checked files that are remembered; a file of many rows is opened for each of them.
REMEMBERED = 4096


def cache_folder() -> Path:
    """The folder of cached files: WINDTUNNEL_CACHE, or `windtunnel` in the user's cache folder."""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "windtunnel"


def fetched(
    url: str, version: Version, download: Callable[[Path], None], current: Callable[[], Version]
) -> Path:
    """The cached file with one version of a remote file.

    Args:
        url: where the file is.
        version: the version to read.
        download: writes the file to a path; called if the cached copy is missing or damaged.
        current: the version in the store now.
    """
    name = hashlib.blake2b(f"{url}\0{version.size}\0{version.tag}".encode(), digest_size=20).hexdigest()
    file = cache_folder() / "remote" / name[:2] / name
    with suppress(OSError):
        status = file.stat()
        if status.st_size == version.size and _is_intact(file, status.st_size, status.st_mtime_ns):
            return file
    unfinished = file.with_name(f"{name}.{uuid.uuid4().hex}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            download(unfinished)
            _check_download(url, version, unfinished, current)
            digest = _digest(unfinished, "blake2b")
            _replace(_checksum_file(file), digest.encode())
            unfinished.replace(file)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        if error.errno in _OF_THE_DISK:
            raise RunFailed(
                f"{cache_folder()} cannot be written ({error.strerror}); free space, or name another cache "
                f"folder with {VARIABLE}"
            ) from error
        raise
    return file


def together(files: Mapping[str, Path]) -> Path:
    """A folder in which copies of cached files have the given relative paths.

    Libraries that open several files need them so, and some refuse links.
    """
    parts = sorted((name, file.name) for name, file in files.items())
    folder = cache_folder() / "remote" / "together" / hashlib.blake2b(
        repr(parts).encode(), digest_size=20
    ).hexdigest()  # fmt: skip
    for name, file in files.items():
        target = folder / name
        if target.is_file() and _digest(target, "blake2b") == _checksum_file(file).read_text():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f"{target.name}.{uuid.uuid4().hex}")
        shutil.copyfile(file, unfinished)
        unfinished.replace(target)
    return folder


@lru_cache(maxsize=REMEMBERED)
def _is_intact(file: Path, size: int, modified: int) -> bool:  # noqa: ARG001 - a changed file is checked again
    return _digest(file, "blake2b") == _checksum_file(file).read_text()


def _checksum_file(file: Path) -> Path:
    return file.with_name(f"{file.name}.sum")


def _check_download(url: str, version: Version, file: Path, current: Callable[[], Version]) -> None:
    """Refuse an incomplete download, and a file that was replaced between listing and download."""
    size = file.stat().st_size
    # The tag of an S3 object that was uploaded in one part is its MD5. Others are asked for again.
    same = size == version.size and (version.tag == _digest(file, "md5") or current() == version)
    if not same:
        raise RunFailed(f"{url} changed while it was read ({version.size:,} bytes listed, {size:,} read)")


def _digest(file: Path, algorithm: str) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.new(algorithm, usedforsecurity=False)).hexdigest()


def _replace(file: Path, content: bytes) -> None:
    unfinished = file.with_name(f"{file.name}.{uuid.uuid4().hex}")
    unfinished.write_bytes(content)
    unfinished.replace(file)
