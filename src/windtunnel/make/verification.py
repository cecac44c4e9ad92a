"""Is a made set what it was? Every byte that was written, against its checksum."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from windtunnel.core.conditions import Condition, digest
from windtunnel.core.errors import UserError
from windtunnel.core.progress import Progress, silent
from windtunnel.core.wording import counted
from windtunnel.data.manifest import (
    MANIFEST_FILE,
    SAMPLES_FILE,
    Manifest,
    checksum,
    read_manifest,
    read_table,
)
from windtunnel.make.imagenet_s import paper_names
from windtunnel.make.layouts import folder_of
from windtunnel.options.make import STEPS_LAYOUT

# Reading and hashing release the interpreter lock; more threads than this only queue for the disk.
THREADS = 4


@dataclass
class Verification:
    """What a check of a made set found.

    Attributes:
        location: the set.
        pieces: files (or blocks of arrays) that were checked.
        bytes: how much was read.
        missing: pieces of work (a condition in a chunk) that are not done.
        damaged: path -> what is wrong with it.
    """

    location: str
    pieces: int = 0
    bytes: int = 0
    missing: int = 0
    damaged: dict[str, str] = field(default_factory=dict)

    @property
    def sound(self) -> bool:
        """Whether everything is there and as it was written."""
        return not self.damaged and not self.missing


def verify(root: Path, progress: Progress = silent) -> Verification:
    """Check every file of a made set; nothing is changed."""
    if not root.is_dir():
        raise UserError(f"{root} is {'a file' if root.exists() else 'not there'}; give the folder of a set.")
    manifest = read_manifest(root)
    if manifest is None:
        raise UserError(f"{root} has no manifest; only sets written by `windtunnel make` can be verified.")
    found = Verification(str(root), damaged=fixed_damage(manifest))
    tables = dict(manifest.tables())
    total = sum(_rows(path) for path in tables.values())
    done: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in tables.values():
        try:
            rows = read_table(path).to_pylist()
        except UserError:
            found.damaged[path.relative_to(root).as_posix()] = "damaged"
            continue
        for row, wrong in checked(root, rows):
            found.pieces += 1
            found.bytes += row["bytes"]
            files[row["condition"]] += 1
            if wrong:
                found.damaged[row["path"]] = wrong
        done.update({row["condition"] for row in rows})
        progress(len(rows), total)
    found.missing = sum(len(manifest.starts) - done[one.name] for one in manifest.conditions)
    if manifest.recipe.layout != "arrays":
        found.damaged |= _strangers(manifest, files, done)
    return found


def _rows(path: Path) -> int:
    try:
        return int(pq.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError):
        return 0


def _strangers(manifest: Manifest, files: Counter[str], done: Counter[str]) -> dict[str, str]:
    """Folders that hold more files than were made: programs that walk them would take those for images.

    Of chunks that are not done some files may be there already, and belong there.
    """
    found = {}
    for condition, place in _places(manifest):
        count = sum(len(names) for _, _, names in os.walk(manifest.root / place))
        in_flight = (len(manifest.starts) - done[condition.name]) * manifest.chunk_px
        in_flight *= condition.frames if manifest.recipe.layout == "frames" else 1
        if (strange := count - files[condition.name] - in_flight) > 0:
            found[place] = f"{counted(strange, 'file')} not made here"
    return found


def _places(manifest: Manifest) -> Iterator[tuple[Condition, str]]:
    """Every condition with the folder of its images."""
    canvas = manifest.recipe.canvas.geometry
    for condition in manifest.conditions:
        if manifest.recipe.layout == STEPS_LAYOUT:
            yield condition, "/".join(paper_names(canvas, condition))
        else:
            yield condition, folder_of(condition)


def fixed_damage(manifest: Manifest) -> dict[str, str]:
    """What is wrong with files that belong to no image: the manifest itself, the list, labels, heads."""
    found = {}
    if manifest.recipe.digest != manifest.digest:
        found[MANIFEST_FILE] = "the recipe differs from its digest"
    for name, fixed in manifest.info.fixed.items():
        row = {"path": name, "start": 0, "bytes": fixed.bytes, "digest": fixed.digest}
        wrong = _damage(manifest.root, row, fixed.size)
        if wrong:
            found[name] = wrong
    try:
        table = read_table(manifest.root / SAMPLES_FILE)
        if digest(table.to_pylist()) != manifest.info.samples:
            found[SAMPLES_FILE] = "content differs from its digest"
    except UserError:
        found[SAMPLES_FILE] = "damaged or missing"
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


def _damage(root: Path, row: dict[str, Any], size: int | None = None) -> str:
    """What is wrong with a piece; without a size of the whole file, a file of its own ends with the piece."""
    path = root / row["path"]
    try:
        with path.open("rb") as file:
            there = os.fstat(file.fileno()).st_size
            file.seek(row["start"])
            content = file.read(row["bytes"])
    except OSError as error:
        return "missing" if isinstance(error, FileNotFoundError) else str(error.strerror or error)
    # A block of an array starts after its head; an image's own file starts at nought.
    whole = size if size is not None else (None if row["start"] else row["bytes"])
    if len(content) != row["bytes"] or (whole is not None and there != whole):
        return f"{there:,} bytes where {whole or row['start'] + row['bytes']:,} were written"
    return "" if checksum(content) == row["digest"] else "content differs from its checksum"
