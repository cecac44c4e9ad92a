"""Precomputed arrays: CIFAR-10-C as published, `<corruption>.npy` (5n images) next to `labels.npy`.

Also the rows of any `.npy` file, read one at a time: images here, clips in `precomputed_clip_arrays.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.images import Image
from windtunnel.core.labels import index_space
from windtunnel.core.locations import Location, local_file, matching
from windtunnel.core.samples import Sample
from windtunnel.corruptions import SEVERITIES
from windtunnel.data.arrays import ArrayDataset, class_indices
from windtunnel.data.manifest import HIDDEN_FOLDER, MANIFEST_FILE, Manifest
from windtunnel.data.precomputed import CLEAN
from windtunnel.data.shelf import Place

LABELS = "labels"
BLOCK = 1 << 20


_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


@dataclass(frozen=True)
class RowFile:
    """An `.npy` file of images or clips, read row by row without caching."""

    path: Location
    shape: tuple[int, ...]
    offset: int

    @property
    def row_bytes(self) -> int:
        """The size of a row in bytes."""
        return int(np.prod(self.shape[1:]))

    @property
    def rows_available(self) -> int:
        """The number of complete rows in the file, whatever its header states."""
        return (self.path.stat().st_size - self.offset) // self.row_bytes

    def row(self, number: int) -> Image:
        """One image, or the frames of one clip."""
        with self.path.open("rb") as file:
            file.seek(self.offset + number * self.row_bytes)
            content = file.read(self.row_bytes)
        if len(content) < self.row_bytes:
            raise ImageError("unreadable", f"{self.path.name} ends before row {number}")
        return np.frombuffer(bytearray(content), np.uint8).reshape(self.shape[1:])


# The axes of an array, by what its rows are.
AXES = {"images": "(n, height, width, 3)", "clips": "(n, frames, height, width, 3)"}


def open_rows(path: Location, rows: Literal["images", "clips"] = "images") -> RowFile:
    """Read an `.npy` file's header; refuses anything but uint8 images or clips."""
    shape, fortran, dtype, offset = read_header(path)
    if dtype != np.uint8 or fortran or len(shape) != AXES[rows].count(",") + 1 or shape[-1] != 3:
        raise UserError(f"{path} is {dtype} {shape}; {rows} are uint8 {AXES[rows]}.")
    return RowFile(path, shape, offset)


def read_header(path: Location) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """The header of an `.npy` file: shape, Fortran order, dtype, and the offset of the data."""
    try:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            read_header = _HEADERS.get(version)
            if read_header is None:
                raise ValueError(f"version {version} of the format")
            shape, fortran, dtype = read_header(file)
            return shape, fortran, dtype, file.tell()
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as a NumPy array: {error}.") from error


class ArrayShelf:
    """The arrays of one folder; severity s of n images is rows (s-1)n to sn."""

    by_row = True
    rare: frozenset[str] = frozenset()

    def __init__(self, root: Location, files: Sequence[Location], manifest: Manifest | None) -> None:
        self._root = root
        self.notes: list[str] = []
        labels = read_labels(root / f"{LABELS}.npy")
        self._count = len(labels) // len(SEVERITIES)
        self._files: dict[str, RowFile] = {}
        for path in files:
            rows = open_rows(path)
            there = rows.rows_available
            if rows.shape[0] != len(labels) or there < len(labels):
                self.notes.append(
                    f"{path.name} is left out: it has {min(there, rows.shape[0]):,} of {len(labels):,} "
                    "expected images."
                )
                continue
            self._files[path.stem] = rows
        if not self._files:
            raise UserError(f"{root} contains no complete array next to {LABELS}.npy; {' '.join(self.notes)}")
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
        """The image of a row under a corruption and a severity."""
        unit, level = place
        return self._files[unit].row((level - 1) * self._count + int(name))

    def digest(self) -> str:
        """Digest of every array and of the labels."""
        return digest_of([self._root / f"{LABELS}.npy", *(rows.path for rows in self._files.values())])

    def clean(self) -> ArrayDataset | None:
        """The clean images of the set, or None."""
        file = self._root / f"{CLEAN}.npy"
        if not file.is_file():
            return None
        names = row_ids(self.samples, self._count)
        labels = read_labels(self._root / f"{LABELS}.npy")[: self._count]
        return ArrayDataset.open(file, labels=labels, ids=names)


def digest_of(paths: Iterable[Location]) -> str:
    """Digest of the names and content of files."""
    digest = hashlib.blake2b(digest_size=16)
    for path in paths:
        digest.update(path.name.encode() + b"\0")
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
    return digest.hexdigest()


def row_ids(samples: Sequence[Sample], count: int) -> list[str] | None:
    """The ids of an array's rows in order; None if a row has no sample."""
    by_row = {int(sample.meta["name"]): sample.id for sample in samples}
    return [by_row[row] for row in range(count)] if len(by_row) == count else None


def array_shelf(root: Location, manifest: Manifest | None) -> ArrayShelf | None:
    """The arrays of a folder that contains `labels.npy` and other `.npy` files, else None."""
    arrays = [path for path in matching(root, "*.npy") if path.is_file() and path.stem not in (LABELS, CLEAN)]
    if not arrays or not (root / f"{LABELS}.npy").is_file():
        return None
    if manifest is None and (root / HIDDEN_FOLDER).is_dir():
        raise UserError(
            f"{root} is an incomplete set without {MANIFEST_FILE}; make it again in another folder."
        )
    return ArrayShelf(root, arrays, manifest)


def read_labels(path: Location) -> NDArray[Any]:
    """The class of every image; the file repeats the classes once per severity."""
    try:
        labels: NDArray[Any] = np.load(local_file(path))
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
            f"{path} is {labels.dtype} {labels.shape}; a precomputed set repeats the classes of its images "
            f"once for each of {len(SEVERITIES)} severities (for other arrays give the .npy file itself)."
        )
    class_indices(labels, len(labels))
    return labels
