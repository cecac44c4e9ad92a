"""Reading of image files: only regular files of a bounded size."""

from __future__ import annotations

import os
import stat

from windtunnel.core.errors import ImageError
from windtunnel.core.locations import Location, local_file

MIB = 2**20
# The largest encoded image that is read, as a file or as a member of an archive.
MAX_FILE_BYTES = 128 * MIB

# The kinds of paths that are not regular files, by the type in their mode.
OTHER_TYPES = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}
# A FIFO that replaces a file between the two checks must not block the open.
OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_file(location: Location) -> bytes:
    """Return the bytes of an image file.

    Type and size are checked before the file is opened, and again on the open file. Symbolic links to
    regular files are followed. The size of a remote file is checked before it is downloaded.

    Raises:
        ImageError: the location is not a regular file, is larger than MAX_FILE_BYTES, or cannot be read.
    """
    try:
        path = local_file(location, check_bytes)
        _check(os.stat(path))  # noqa: PTH116 - opening a device can have side effects
        with os.fdopen(os.open(path, OPEN_FLAGS), "rb") as file:
            size = _check(os.fstat(file.fileno()))
            content = file.read(size + 1)  # one more byte shows that a file grows
    except OSError as error:
        raise ImageError("unreadable", f"cannot read the file: {error.strerror or error}") from error
    except MemoryError as error:
        raise ImageError("too_large", "there is not enough memory to read the file") from error
    if len(content) > size:
        raise ImageError("unreadable", "the file grew while it was read")
    return content


def check_bytes(count: int) -> None:
    """Refuse an encoded image with more bytes than the limit."""
    if count > MAX_FILE_BYTES:
        raise ImageError("too_large", f"{count:,} bytes; at most {MAX_FILE_BYTES:,} are read")


def _check(status: os.stat_result) -> int:
    """The size of a file; refuses other kinds of paths and large files."""
    if not stat.S_ISREG(status.st_mode):
        kind = OTHER_TYPES.get(stat.S_IFMT(status.st_mode), "a special file")
        raise ImageError("unreadable", f"the path is {kind}; only regular files are read")
    check_bytes(status.st_size)
    return status.st_size
