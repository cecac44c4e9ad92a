"""Finished arrays, as CIFAR-10-C is published: `<corruption>.npy` (5n pictures) beside `labels.npy`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.corruptions import SEVERITIES
from windtunnel.data import Sample
from windtunnel.data.arrays import ArrayDataset
from windtunnel.data.finished import CLEAN, Place, named_samples, unfinished_remark
from windtunnel.data.manifest import Manifest
from windtunnel.errors import PictureError, UserError
from windtunnel.imaging import Image
from windtunnel.labels import LabelSpace, index_space

LABELS = "labels"


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
        self.remarks: list[str] = unfinished_remark(manifest) if manifest else []
        labels = _labels(root / f"{LABELS}.npy")
        self._count = len(labels) // len(SEVERITIES)
        self._files: dict[str, RowFile] = {}
        for path in files:
            rows = open_rows(path)
            whole = rows.offset + rows.shape[0] * rows.row_bytes
            size = path.stat().st_size
            if rows.shape[0] != len(labels) or size < whole:
                self.remarks.append(
                    f"{path.name} is left out: {len(labels):,} pictures are expected, "
                    f"{(size - rows.offset) // rows.row_bytes:,} are there."
                )
                continue
            self._files[path.stem] = rows
        if not self._files:
            raise UserError(f"{root} holds no whole array beside {LABELS}.npy; {' '.join(self.remarks)}")
        self.places = [(unit, level) for unit in self._files for level in SEVERITIES]
        self.label_space: LabelSpace = index_space(int(labels.max()) + 1)
        if manifest:
            self.samples = named_samples(
                manifest, {str(label): label for label in range(len(self.label_space))}
            )
        else:
            names = [f"{row:08d}" for row in range(self._count)]
            self.samples = [
                Sample(name, (int(labels[row]),), {"name": name}) for row, name in enumerate(names)
            ]

    def read(self, name: str, place: Place) -> Image:
        """The picture of a row under a corruption and a severity."""
        unit, level = place
        return self._files[unit].row((level - 1) * self._count + int(name))

    def clean(self) -> ArrayDataset | None:
        """The clean pictures beside the corrupted ones."""
        file = self._root / f"{CLEAN}.npy"
        if not file.is_file():
            return None
        labels = _labels(self._root / f"{LABELS}.npy")[: self._count]
        return ArrayDataset.open(file, labels=labels)


def array_shelf(root: Path, manifest: Manifest | None) -> ArrayShelf | None:
    """The arrays of a folder that has `labels.npy` and other `.npy` files, else None."""
    arrays = sorted(path for path in root.glob("*.npy") if path.stem not in (LABELS, CLEAN))
    if not arrays or not (root / f"{LABELS}.npy").is_file():
        return None
    return ArrayShelf(root, arrays, manifest)


def _labels(path: Path) -> NDArray[Any]:
    try:
        labels: NDArray[Any] = np.load(path)
    except (OSError, ValueError) as error:
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
