"""How a made set lies on disk: one writer per layout, with the same verbs.

A piece is what one picture under one condition becomes: a file, or rows of an array.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from windtunnel.conditions import Condition
from windtunnel.corruptions import SEVERITIES
from windtunnel.data.finished import CLEAN
from windtunnel.data.finished_arrays import LABELS, RowFile, open_rows
from windtunnel.data.manifest import checksum
from windtunnel.errors import UserError
from windtunnel.imaging import Image
from windtunnel.imaging.codecs import encode, round_trip, suffix_of
from windtunnel.store.files import UNFINISHED, write_whole


@dataclass(frozen=True)
class Piece:
    """Bytes that were written: where, under which condition, how many, and their digest."""

    path: str
    condition: str
    start: int
    bytes: int
    digest: str


@dataclass(frozen=True)
class Fixed:
    """A file, or the head of one, that belongs to no picture: its first bytes, and the whole file's size."""

    head: bytes
    size: int


# A picture's name, what was done to it, and the canvas before it is stored.
Made = tuple[str, Condition, Image]


class Layout(Protocol):
    """A way to lay pictures out on disk."""

    def fixed(self) -> dict[str, Fixed]:
        """The files that belong to no picture."""
        ...

    def prepare(self, root: Path) -> None:
        """Create what is fixed, or repair it."""
        ...

    def write(self, root: Path, made: Iterable[Made]) -> list[Piece]:
        """Write the pictures of a chunk as they are made, and say what was written."""
        ...


@dataclass(frozen=True)
class Folders:
    """`<corruption>/<severity>/<class>/<name>.JPEG`, and `clean/<class>/<name>.png`."""

    def fixed(self) -> dict[str, Fixed]:
        """None: every file is a picture."""
        return {}

    def prepare(self, root: Path) -> None:
        """Nothing: folders appear with their first file."""

    def write(self, root: Path, made: Iterable[Made]) -> list[Piece]:
        """One file per picture, each written whole or not at all."""
        pieces = []
        for name, condition, image in made:
            path = f"{folder_of(condition)}/{name}{suffix_of(condition.codec)}"
            content = encode(image, condition.codec)
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            # No fsync as for a run's shards: a file lost with the power is found by its checksum.
            unfinished = target.with_name(f"{target.name}{UNFINISHED}")
            unfinished.write_bytes(content)
            unfinished.replace(target)
            pieces.append(Piece(path, condition.name, 0, len(content), checksum(content)))
        return pieces


def folder_of(condition: Condition) -> str:
    """Where a condition's pictures lie in a set of folders."""
    return CLEAN if condition.kind == "clean" else f"{condition.unit}/{condition.level}"


@dataclass(frozen=True)
class Arrays:
    """`<corruption>.npy` of five severities one after another, `labels.npy`, and `clean.npy`.

    Attributes:
        units: the corruptions.
        labels: the class index of every picture.
        height, width: of every picture.
    """

    units: tuple[str, ...]
    labels: tuple[int, ...]
    height: int
    width: int

    def fixed(self) -> dict[str, Fixed]:
        """The labels, and the head of every array."""
        count = len(self.labels)
        rows = {unit: len(SEVERITIES) * count for unit in self.units} | {CLEAN: count}
        found = {f"{name}.npy": self._head(rows[name]) for name in rows}
        kind = np.uint8 if max(self.labels) < 256 else np.int64
        out = io.BytesIO()
        np.save(out, np.tile(np.array(self.labels, kind), len(SEVERITIES)))
        return found | {f"{LABELS}.npy": Fixed(out.getvalue(), len(out.getvalue()))}

    def _head(self, rows: int) -> Fixed:
        shape = (rows, self.height, self.width, 3)
        out = io.BytesIO()
        header = {"descr": "|u1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(out, header)
        return Fixed(out.getvalue(), len(out.getvalue()) + int(np.prod(shape)))

    def prepare(self, root: Path) -> None:
        """Create what is missing at its full size; the system fills it only as it is written."""
        wrong = {name: fixed for name, fixed in self.fixed().items() if not is_intact(root / name, fixed)}
        needed = sum(fixed.size for name, fixed in wrong.items() if not (root / name).exists())
        free = shutil.disk_usage(root).free
        if needed > free:
            raise UserError(
                f"The arrays take {needed / 1e9:.1f} GB and {root} has {free / 1e9:.1f} GB left; "
                "choose another place, or fewer corruptions with --only."
            )
        for name, fixed in wrong.items():
            path = root / name
            if not path.exists():
                write_whole(path, fixed.head)
            with path.open("r+b") as file:
                file.write(fixed.head)
                file.truncate(fixed.size)

    def write(self, root: Path, made: Iterable[Made]) -> list[Piece]:
        """The rows of a chunk, condition by condition, each block at its place in an array."""
        blocks: dict[str, tuple[Condition, int, bytearray]] = {}
        for name, condition, image in made:
            _, _, block = blocks.setdefault(condition.name, (condition, int(name), bytearray()))
            block += round_trip(image, condition.codec).tobytes()
        return [self._write_block(root, *block) for block in blocks.values()]

    def _write_block(self, root: Path, condition: Condition, row: int, content: bytearray) -> Piece:
        array: RowFile = open_rows(root / f"{CLEAN if condition.kind == 'clean' else condition.unit}.npy")
        first = row + max(condition.level - 1, 0) * len(self.labels)
        start = array.offset + first * array.row_bytes
        with array.path.open("r+b") as file:
            file.seek(start)
            file.write(content)
        return Piece(array.path.name, condition.name, start, len(content), checksum(content))


def is_intact(path: Path, fixed: Fixed) -> bool:
    """Whether a file has the head and the size it should have."""
    if not path.is_file() or path.stat().st_size != fixed.size:
        return False
    with path.open("rb") as file:
        return file.read(len(fixed.head)) == fixed.head
