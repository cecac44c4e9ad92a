"""How a made set lies on disk: one writer per layout, both with the same three verbs.

A piece is what one picture under one condition becomes: a file, or a row of an array.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from windtunnel.conditions import Condition
from windtunnel.corruptions import SEVERITIES
from windtunnel.data.finished import CLEAN
from windtunnel.data.finished_arrays import LABELS, open_rows
from windtunnel.data.manifest import checksum
from windtunnel.errors import RunFailed, UserError
from windtunnel.imaging import Image
from windtunnel.imaging.codecs import encode, round_trip, suffix_of
from windtunnel.store.files import UNFINISHED


@dataclass(frozen=True)
class Piece:
    """Bytes that were written: where, under which condition, how many, and their digest."""

    path: str
    condition: str
    start: int
    bytes: int
    digest: str


# A picture's name, what was done to it, and the canvas before it is stored.
Made = tuple[str, Condition, Image]


class Layout(Protocol):
    """A way to lay pictures out on disk."""

    def prepare(self, root: Path) -> dict[str, str]:
        """Get the folder ready; returns the digests of files that belong to no picture."""
        ...

    def write(self, root: Path, made: Iterable[Made]) -> list[Piece]:
        """Write the pictures of a chunk as they are made, and say what was written."""
        ...


@dataclass(frozen=True)
class Folders:
    """`<corruption>/<severity>/<class>/<name>.JPEG`, and `clean/<class>/<name>.png`."""

    def prepare(self, root: Path) -> dict[str, str]:
        """Nothing: folders appear with their first file."""
        root.mkdir(parents=True, exist_ok=True)
        return {}

    def write(self, root: Path, made: Iterable[Made]) -> list[Piece]:
        """One file per picture, each written whole or not at all."""
        pieces = []
        for name, condition, image in made:
            place = CLEAN if condition.kind == "clean" else f"{condition.unit}/{condition.level}"
            path = f"{place}/{name}{suffix_of(condition.codec)}"
            content = encode(image, condition.codec)
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            # No fsync as for a run's shards: a file lost with the power is found by its checksum.
            unfinished = target.with_name(f"{target.name}{UNFINISHED}")
            unfinished.write_bytes(content)
            unfinished.replace(target)
            pieces.append(Piece(path, condition.name, 0, len(content), checksum(content)))
        return pieces


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

    def prepare(self, root: Path) -> dict[str, str]:
        """Create the arrays at their full size, and the labels."""
        root.mkdir(parents=True, exist_ok=True)
        shapes = {unit: len(SEVERITIES) * len(self.labels) for unit in self.units} | {CLEAN: len(self.labels)}
        missing = {name: rows for name, rows in shapes.items() if not (root / f"{name}.npy").exists()}
        needed = sum(missing.values()) * self.height * self.width * 3
        if needed > shutil.disk_usage(root).free:
            free = shutil.disk_usage(root).free
            raise UserError(
                f"The arrays take {needed / 1e9:.1f} GB and {root} has {free / 1e9:.1f} GB left; "
                "choose another place, or fewer corruptions with --only."
            )
        for name, rows in missing.items():
            _create(root / f"{name}.npy", (rows, self.height, self.width, 3))
        kind = np.uint8 if max(self.labels) < 256 else np.int64
        file = root / f"{LABELS}.npy"
        np.save(file, np.tile(np.array(self.labels, kind), len(SEVERITIES)))
        return {file.name: checksum(file.read_bytes())}

    def write(self, root: Path, made: Iterable[Made]) -> list[Piece]:
        """The rows of a chunk, condition by condition, each block at its place in an array."""
        blocks: dict[str, tuple[Condition, int, bytearray]] = {}
        for name, condition, image in made:
            _, _, block = blocks.setdefault(condition.name, (condition, int(name), bytearray()))
            block += round_trip(image, condition.codec).tobytes()
        return [self._write_block(root, *block) for block in blocks.values()]

    def _write_block(self, root: Path, condition: Condition, row: int, content: bytearray) -> Piece:
        array = open_rows(root / f"{CLEAN if condition.kind == 'clean' else condition.unit}.npy")
        if array.shape[1:] != (self.height, self.width, 3):
            raise RunFailed(f"{array.path} has pictures of shape {array.shape[1:]}")
        first = row + max(condition.level - 1, 0) * len(self.labels)
        start = array.offset + first * array.row_bytes
        handle = os.open(array.path, os.O_WRONLY)
        try:
            os.pwrite(handle, content, start)
        finally:
            os.close(handle)
        return Piece(array.path.name, condition.name, start, len(content), checksum(content))


def _create(path: Path, shape: tuple[int, ...]) -> None:
    """An `.npy` file of zeros; the system fills it only as it is written."""
    unfinished = path.with_name(f"{path.name}{UNFINISHED}")
    with unfinished.open("wb") as file:
        header = {"descr": "|u1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + int(np.prod(shape)))
    unfinished.replace(path)
