"""An index of a tar file: where the bytes of every member are, read from the headers alone."""

from __future__ import annotations

import tarfile
from contextlib import suppress
from dataclasses import dataclass

from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.locations import Location, local_file
from windtunnel.imaging.files import check_bytes

UNREADABLE = (tarfile.TarError, OSError, ValueError, EOFError)


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a tar file: its name, its first byte and its size; size -1 for links and other files."""

    name: str
    start: int
    size: int


@dataclass(frozen=True)
class TarIndex:
    """The members of a tar file, and whether the two empty blocks at its end are present."""

    members: tuple[Member, ...]
    ended: bool


def tar_index(location: Location) -> TarIndex:
    """The index of an uncompressed tar file.

    Refuses a file that ends within a member, and one with a damaged header: members after it are lost.
    """
    try:
        with tarfile.open(local_file(location), "r:") as tar:
            members = tuple(_member(entry) for entry in tar if not entry.isdir())
            return TarIndex(members, is_ended(tar, location))
    except UNREADABLE as error:
        raise UserError(
            f"{location} cannot be read as a tar file: {error}; it may be incomplete. Download it again."
        ) from error


def first_members(location: Location, limit: int) -> list[Member]:
    """The first members of a tar file, as far as they can be read."""
    members: list[Member] = []
    with suppress(*UNREADABLE), tarfile.open(local_file(location), "r:") as tar:
        for entry in tar:
            if len(members) == limit:
                break
            if not entry.isdir():
                members.append(_member(entry))
    return members


def is_ended(tar: tarfile.TarFile, location: Location) -> bool:
    """Whether a tar file whose members were all read has an end marker; refuses one that ends otherwise.

    tarfile itself takes a damaged header for the end.
    """
    end = tar.offset
    with local_file(location).open("rb") as stream:
        stream.seek(end)
        rest = stream.read(tarfile.BLOCKSIZE)
    if any(rest) or len(rest) not in (0, tarfile.BLOCKSIZE):
        raise UserError(
            f"{location} is damaged at byte {end:,}, after {len(tar.getmembers()):,} members; download it "
            "again."
        )
    return bool(rest)


def _member(entry: tarfile.TarInfo) -> Member:
    is_whole = entry.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not entry.issparse()
    return Member(entry.name.removeprefix("./"), entry.offset_data, entry.size if is_whole else -1)


def read_member(location: Location, start: int, size: int) -> bytes:
    """The bytes of a member; raises `ImageError` for links, large members and files that have changed."""
    if size < 0:
        raise ImageError("unreadable", "the member is no regular file")
    check_bytes(size)
    try:
        with local_file(location).open("rb") as stream:
            stream.seek(start)
            content = stream.read(size)
    except OSError as error:
        raise ImageError("unreadable", f"cannot read from the shard: {error.strerror or error}") from error
    if len(content) < size:
        raise ImageError("unreadable", f"{location.name} ends within the image")
    return content
