"""Finished arrays, as CIFAR-10-C is published: `<corruption>.npy` (5n pictures) beside `labels.npy`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.corruptions import SEVERITIES
from windtunnel.data import Sample
from windtunnel.data.arrays import ArrayDataset
from windtunnel.data.finished import CLEAN, Place
from windtunnel.data.manifest import HIDDEN_FOLDER, MANIFEST_FILE, Manifest
from windtunnel.errors import PictureError, UserError
from windtunnel.imaging import Image
from windtunnel.labels import index_space

LABELS = "labels"
BLOCK = 1 << 20


_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


@dataclass(frozen=True)
class RowFile:
    """An `.npy` file of pictures, read row by row without keeping any of it."""

    path: Path
    shape: tuple[int, ...]
    offset: int

    @property
    def row_bytes(self) -> int:
        """How many bytes a picture takes."""
        return int(np.prod(self.shape[1:]))

    def row(self, number: int) -> Image:
        """One picture."""
        with self.path.open("rb") as file:
            file.seek(self.offset + number * self.row_bytes)
            content = file.read(self.row_bytes)
        if len(content) < self.row_bytes:
            raise PictureError("unreadable", f"{self.path.name} ends before row {number}")
        return np.frombuffer(bytearray(content), np.uint8).reshape(self.shape[1:])


def open_rows(path: Path) -> RowFile:
    """Look at an `.npy` file's header; anything but uint8 pictures (n, height, width, 3) is refused."""
    try:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            read_header = _HEADERS.get(version)
            if read_header is None:
                raise ValueError(f"version {version} of the format")
            shape, fortran, dtype = read_header(file)
            offset = file.tell()
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as a NumPy array: {error}.") from error
    if dtype != np.uint8 or fortran or len(shape) != 4 or shape[3] != 3:
        raise UserError(f"{path} is {dtype} {shape}; pictures are uint8 (n, height, width, 3).")
    return RowFile(path, shape, offset)


class ArrayShelf:
    """The arrays of one folder; severity s of n pictures is rows (s-1)n to sn."""

    def __init__(self, root: Path, files: Sequence[Path], manifest: Manifest | None) -> None:
        self._root = root
        self.remarks: list[str] = []
        labels = read_labels(root / f"{LABELS}.npy")
        self._count = len(labels) // len(SEVERITIES)
        self._files: dict[str, RowFile] = {}
        for path in files:
            rows = open_rows(path)
            there = (path.stat().st_size - rows.offset) // rows.row_bytes
            if rows.shape[0] != len(labels) or there < len(labels):
                self.remarks.append(
                    f"{path.name} is left out: {len(labels):,} pictures are expected, "
                    f"{min(there, rows.shape[0]):,} are there."
                )
                continue
            self._files[path.stem] = rows
        if not self._files:
            raise UserError(f"{root} holds no whole array beside {LABELS}.npy; {' '.join(self.remarks)}")
        self.places = [(unit, level) for unit in self._files for level in SEVERITIES]
        if manifest:
            self.label_space = manifest.label_space
            self.samples = sorted(manifest.samples(), key=lambda sample: sample.id)
        else:
            self.label_space = index_space(int(labels.max()) + 1)
            names = [f"{row:08d}" for row in range(self._count)]
            self.samples = [
                Sample(name, (int(labels[row]),), {"name": name}) for row, name in enumerate(names)
            ]

    def read(self, name: str, place: Place) -> Image:
        """The picture of a row under a corruption and a severity."""
        unit, level = place
        return self._files[unit].row((level - 1) * self._count + int(name))

    def digest(self) -> str:
        """Digest of every array and of the labels."""
        digest = hashlib.blake2b(digest_size=16)
        for path in (self._root / f"{LABELS}.npy", *(rows.path for rows in self._files.values())):
            digest.update(path.name.encode() + b"\0")
            with path.open("rb") as file:
                while block := file.read(BLOCK):
                    digest.update(block)
        return digest.hexdigest()

    def clean(self) -> ArrayDataset | None:
        """The clean pictures beside the corrupted ones."""
        file = self._root / f"{CLEAN}.npy"
        if not file.is_file():
            return None
        names = None
        if len(self.samples) == self._count:
            by_row = {int(sample.meta["name"]): sample.id for sample in self.samples}
            names = [by_row[row] for row in range(self._count)]
        labels = read_labels(self._root / f"{LABELS}.npy")[: self._count]
        return ArrayDataset.open(file, labels=labels, ids=names)


def array_shelf(root: Path, manifest: Manifest | None) -> ArrayShelf | None:
    """The arrays of a folder that has `labels.npy` and other `.npy` files, else None."""
    arrays = sorted(path for path in root.glob("*.npy") if path.stem not in (LABELS, CLEAN))
    if not arrays or not (root / f"{LABELS}.npy").is_file():
        return None
    if manifest is None and (root / HIDDEN_FOLDER).is_dir():
        raise UserError(
            f"{root} is a set that was begun and has no {MANIFEST_FILE}; make it again elsewhere."
        )
    return ArrayShelf(root, arrays, manifest)


def read_labels(path: Path) -> NDArray[Any]:
    """The class of every picture, five times over."""
    try:
        labels: NDArray[Any] = np.load(path)
    except (OSError, ValueError, EOFError) as error:
        raise UserError(f"{path} cannot be read as a NumPy array: {error}.") from error
    if (
        labels.ndim != 1
        or not len(labels)
        or not np.issubdtype(labels.dtype, np.integer)
        or len(labels) % len(SEVERITIES)
        or (labels.reshape(len(SEVERITIES), -1) != labels[: len(labels) // len(SEVERITIES)]).any()
    ):
        raise UserError(
            f"{path} is {labels.dtype} {labels.shape}; a finished set repeats the classes of its pictures "
            f"once for each of {len(SEVERITIES)} severities (for other arrays give the .npy file itself)."
        )
    return labels
