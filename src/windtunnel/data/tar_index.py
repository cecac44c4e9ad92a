"""An index of a tar file: where the bytes of every member are, read from the headers alone."""

from __future__ import annotations

import tarfile
from dataclasses import dataclass

from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.locations import Location, local_file
from windtunnel.imaging.files import check_bytes

BLOCK = tarfile.BLOCKSIZE


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


def tar_index(location: Location, limit: int = 0) -> TarIndex:
    """The index of an uncompressed tar file; with `limit`, of its first members.

    Refuses a file that ends within a member, and one with a damaged header: members after it are lost.
    """
    file = local_file(location)
    members: list[Member] = []
    try:
        size = file.stat().st_size
        with tarfile.open(file, "r:") as tar:
            for entry in tar:
                if not entry.isdir():
                    whole = entry.type in (tarfile.REGTYPE, tarfile.AREGTYPE)
                    name = entry.name.removeprefix("./")
                    members.append(Member(name, entry.offset_data, entry.size if whole else -1))
                if limit and len(members) == limit:
                    return TarIndex(tuple(members), ended=True)
            end = tar.offset
        with file.open("rb") as stream:
            stream.seek(end)
            rest = stream.read(BLOCK)
    except (tarfile.TarError, OSError, ValueError, EOFError) as error:
        raise UserError(
            f"{location} cannot be read as a tar file: {error}; it may be incomplete. Download it again."
        ) from error
    if any(rest) or len(rest) not in (0, BLOCK):
        raise UserError(
            f"{location} is damaged at byte {end:,} of {size:,}, after {len(members):,} members; download it "
            "again."
        )
    return TarIndex(tuple(members), bool(rest))


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
