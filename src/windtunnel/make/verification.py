"""Verification of a made set: every byte that was written, compared with its checksum."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from windtunnel.core.conditions import Condition, digest
from windtunnel.core.errors import UserError
from windtunnel.core.locations import Location, entries, local_file
from windtunnel.core.progress import Progress, silent
from windtunnel.core.wording import counted
from windtunnel.data.manifest import (
    CHUNKS_FOLDER,
    HIDDEN_FOLDER,
    MANIFEST_FILE,
    SAMPLES_FILE,
    Manifest,
    checksum,
    read_manifest,
    read_table,
)
from windtunnel.data.precomputed_shards import WEBDATASET
from windtunnel.make.imagenet_s import paper_names
from windtunnel.make.layouts import folder_of
from windtunnel.options.make import STEPS_LAYOUT

# Reading and hashing release the interpreter lock; more threads than this only wait for the disk.
THREADS = 4


@dataclass
class Verification:
    """The result of verifying a made set.

    Attributes:
        location: the set's folder.
        pieces: the number of files (or blocks of arrays) that were checked.
        bytes: the number of bytes that were read.
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
        """Whether the set is complete and unchanged."""
        return not self.damaged and not self.missing


def verify(root: Location, progress: Progress = silent) -> Verification:
    """Check every file of a made set; nothing is changed."""
    if not root.is_dir():
        raise UserError(
            f"{root} {'is a file' if root.exists() else 'does not exist'}; give the folder of a set."
        )
    manifest = read_manifest(root)
    if manifest is None:
        raise UserError(f"{root} has no manifest; only sets written by `windtunnel make` can be verified.")
    result = Verification(str(root), damaged=fixed_damage(manifest))
    tables = dict(manifest.tables())
    total = sum(_rows(path) for path in tables.values())
    done: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in tables.values():
        try:
            rows = read_table(path).to_pylist()
        except UserError:
            result.damaged[f"{CHUNKS_FOLDER}/{path.name}"] = "damaged"
            continue
        for row, wrong in checked(root, rows):
            result.pieces += 1
            result.bytes += row["bytes"]
            files[row["condition"]] += not row["path"].startswith(HIDDEN_FOLDER)
            if wrong:
                result.damaged[row["path"]] = wrong
        done.update({row["condition"] for row in rows})
        progress(len(rows), total)
    result.missing = sum(len(manifest.starts) - done[condition.name] for condition in manifest.conditions)
    if manifest.recipe.layout != "arrays":
        result.damaged |= _unknown_files(manifest, files, done)
    return result


def _rows(path: Location) -> int:
    try:
        return int(pq.read_metadata(local_file(path)).num_rows)
    except (pa.ArrowException, OSError):
        return 0


def _unknown_files(manifest: Manifest, files: Counter[str], done: Counter[str]) -> dict[str, str]:
    """Folders with more files than were made: programs that walk them would read those as images.

    Folders of unfinished chunks may already contain some of their files.
    """
    unknown = {}
    for condition, place in _places(manifest):
        count = _count_files(manifest.root / place)
        in_flight = len(manifest.starts) - done[condition.name]
        in_flight *= 1 if manifest.recipe.layout == WEBDATASET else manifest.chunk_px
        in_flight *= condition.frames if manifest.recipe.layout == "frames" else 1
        count -= sum(name.startswith(f"{place}/") for name in manifest.info.fixed)
        if (strange := count - files[condition.name] - in_flight) > 0:
            unknown[place] = f"{counted(strange, 'file')} not made here"
    return unknown


def _count_files(folder: Location) -> int:
    """The number of files below a folder."""
    if not folder.is_dir():
        return 0
    return sum(_count_files(folder / entry.name) if entry.is_dir() else 1 for entry in entries(folder))


def _places(manifest: Manifest) -> Iterator[tuple[Condition, str]]:
    """Every condition with the folder of its images."""
    canvas = manifest.recipe.canvas.geometry
    for condition in manifest.conditions:
        if manifest.recipe.layout == STEPS_LAYOUT:
            yield condition, "/".join(paper_names(canvas, condition))
        else:
            yield condition, folder_of(condition)


def fixed_damage(manifest: Manifest) -> dict[str, str]:
    """Damage to files that belong to no image: the manifest, the list of images, labels, array headers."""
    damage = {}
    if manifest.recipe.digest != manifest.digest:
        damage[MANIFEST_FILE] = "the recipe differs from its digest"
    for name, fixed in manifest.info.fixed.items():
        row = {"path": name, "start": 0, "bytes": fixed.bytes, "digest": fixed.digest}
        wrong = _damage(manifest.root, row, fixed.size)
        if wrong:
            damage[name] = wrong
    try:
        table = read_table(manifest.root / SAMPLES_FILE)
        if digest(table.to_pylist()) != manifest.info.samples:
            damage[SAMPLES_FILE] = "content differs from its digest"
    except UserError:
        damage[SAMPLES_FILE] = "damaged or missing"
    return damage


def checked(root: Location, rows: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    """Every row of a checksum table with the damage to its piece ("" for none)."""
    rows = list(rows)
    with ThreadPoolExecutor(THREADS) as pool:
        yield from zip(rows, pool.map(lambda row: _damage(root, row), rows), strict=True)


def sound_conditions(root: Location, table: pa.Table) -> set[str]:
    """The conditions of a chunk with all pieces intact."""
    rows = table.to_pylist()
    return {row["condition"] for row in rows} - {
        row["condition"] for row, wrong in checked(root, rows) if wrong
    }


def _damage(root: Location, row: dict[str, Any], size: int | None = None) -> str:
    """The damage to a piece, "" for none; without `size`, the file must end with the piece."""
    path = root / row["path"]
    try:
        with path.open("rb") as file:
            there = os.fstat(file.fileno()).st_size
            file.seek(row["start"])
            content = file.read(row["bytes"])
    except OSError as error:
        return "missing" if isinstance(error, FileNotFoundError) else str(error.strerror or error)
    # A block of an array starts after its header; an image's own file starts at 0.
    whole = size if size is not None else (None if row["start"] else row["bytes"])
    if len(content) != row["bytes"] or (whole is not None and there != whole):
        return f"{there:,} bytes where {whole or row['start'] + row['bytes']:,} were written"
    return "" if checksum(content) == row["digest"] else "content differs from its checksum"
