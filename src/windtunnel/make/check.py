"""Is a made set what it was? Every byte that was written, against its checksum."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from windtunnel.data.manifest import Manifest, checksum, read_manifest, read_table
from windtunnel.errors import UserError

# Reading and hashing release the interpreter lock; more threads than this only queue for the disk.
THREADS = 4


@dataclass
class Verification:
    """What a check of a made set found.

    Attributes:
        location: the set.
        pieces: files (or blocks of arrays) that were checked.
        bytes: how much was read.
        chunks, of_chunks: how many chunks are made, of how many.
        damaged: path -> what is wrong with it.
    """

    location: str
    pieces: int = 0
    bytes: int = 0
    chunks: int = 0
    of_chunks: int = 0
    damaged: dict[str, str] = field(default_factory=dict)

    @property
    def sound(self) -> bool:
        """Whether everything is there and as it was written."""
        return not self.damaged and self.chunks == self.of_chunks


def verify(root: Path, advance: Callable[[int, int], None] = lambda _done, _total: None) -> Verification:
    """Check every file of a made set; nothing is changed."""
    manifest = read_manifest(root)
    if manifest is None:
        raise UserError(f"{root} has no manifest; only sets written by `windtunnel make` can be verified.")
    tables = manifest.chunks()
    found = Verification(str(root), chunks=len(tables), of_chunks=manifest.chunk_count)
    found.damaged |= loose_damage(manifest)
    read = [read_table(path) for path in tables]
    for table in read:
        for row, wrong in checked(root, table.to_pylist()):
            found.pieces += 1
            found.bytes += row["bytes"]
            if wrong:
                found.damaged[row["path"]] = wrong
        advance(len(table), sum(map(len, read)))
    return found


def loose_damage(manifest: Manifest) -> dict[str, str]:
    """What is wrong with files that belong to no picture, such as labels."""
    found = {}
    for name, expected in manifest.info["files"].items():
        path = manifest.root / name
        if not path.is_file():
            found[name] = "missing"
        elif checksum(path.read_bytes()) != expected:
            found[name] = "content differs from its checksum"
    return found


def checked(root: Path, rows: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    """Every row of a checksum table with what is wrong with it ("" where it is sound)."""
    rows = list(rows)
    with ThreadPoolExecutor(THREADS) as pool:
        yield from zip(rows, pool.map(lambda row: _damage(root, row), rows), strict=True)


def sound_conditions(root: Path, table: pa.Table) -> set[str]:
    """The conditions of a chunk whose every piece is sound."""
    rows = table.to_pylist()
    return {row["condition"] for row in rows} - {
        row["condition"] for row, wrong in checked(root, rows) if wrong
    }


def _damage(root: Path, row: dict[str, Any]) -> str:
    try:
        with (root / row["path"]).open("rb") as file:
            file.seek(row["start"])
            # One byte more than expected: a file that has grown is damaged too. Arrays go on, of course.
            content = file.read(row["bytes"] if row["start"] else row["bytes"] + 1)
    except OSError as error:
        return "missing" if isinstance(error, FileNotFoundError) else str(error.strerror or error)
    if len(content) != row["bytes"]:
        return f"{len(content):,} bytes where {row['bytes']:,} were written"
    return "" if checksum(content) == row["digest"] else "content differs from its checksum"
