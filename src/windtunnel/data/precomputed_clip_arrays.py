"""Precomputed clips as arrays, as CIFAR-10-P is published: `<perturbation>[_2|_3].npy`, one clip per row.

The published sets have no labels; a `labels.npy` with the class of every row is read if there is one.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from windtunnel.core.errors import UserError
from windtunnel.core.images import Image
from windtunnel.core.labels import index_space
from windtunnel.core.locations import Location, local_file, matching
from windtunnel.core.samples import Sample
from windtunnel.data.arrays import ArrayDataset, class_indices
from windtunnel.data.manifest import HIDDEN_FOLDER, MANIFEST_FILE, Manifest
from windtunnel.data.precomputed import AS_STORED, CLEAN
from windtunnel.data.precomputed_arrays import (
    AXES,
    LABELS,
    RowFile,
    digest_of,
    open_rows,
    read_header,
    row_ids,
)
from windtunnel.data.precomputed_clips import place_named, unknown_sequence
from windtunnel.data.shelf import Place

CLIP_AXES = AXES["clips"].count(",") + 1


class ClipArrayShelf:
    """The arrays of one folder, which have the same number of clips."""

    by_row = True
    rare: frozenset[str] = frozenset()
    codec = f"{AS_STORED}-array"

    def __init__(
        self,
        root: Location,
        files: Mapping[Place, RowFile],
        manifest: Manifest | None,
        notes: Sequence[str] = (),
    ) -> None:
        self._root = root
        self.notes = list(notes)
        self._count = statistics.mode(rows.shape[0] for rows in files.values())
        self._files: dict[Place, RowFile] = {}
        for place, rows in files.items():
            there = min(rows.rows_available, rows.shape[0])
            if there < self._count or rows.shape[0] != self._count:
                self.notes.append(
                    f"{rows.path.name} is left out: it has {there:,} of {self._count:,} expected clips."
                )
                continue
            self._files[place] = rows
        if not self._files:
            raise UserError(f"{root} contains no complete array of clips; {' '.join(self.notes)}")
        self.places = list(self._files)
        if manifest:
            self.label_space = manifest.label_space
            self.samples: Sequence[Sample] = sorted(manifest.samples(), key=lambda sample: sample.id)
            return
        labels = _labels(root / f"{LABELS}.npy", self._count)
        self.label_space = index_space(1 + max((label for row in labels for label in row), default=-1))
        names = [f"{row:08d}" for row in range(self._count)]
        self.samples = [Sample(name, labels[row], {"name": name}) for row, name in enumerate(names)]

    def clip(self, name: str, place: Place) -> Iterator[bytes | Image]:
        """The frames of a row."""
        return iter(self._files[place].row(int(name)))

    def read(self, name: str, place: Place) -> Image:
        """The first frame of a row."""
        first: Image = self._files[place].row(int(name))[0]
        return first

    def frames(self, place: Place) -> int:
        """How many frames a sequence has."""
        return self._files[place].shape[1]

    def digest(self) -> str:
        """Digest of every array, and of the labels if there are any."""
        labels = [path for path in (self._root / f"{LABELS}.npy",) if path.is_file()]
        return digest_of([*labels, *(rows.path for rows in self._files.values())])

    def clean(self) -> ArrayDataset | None:
        """The clean images of the set, or None."""
        file = self._root / f"{CLEAN}.npy"
        return ArrayDataset.open(file, ids=row_ids(self.samples, self._count)) if file.is_file() else None


def clip_array_shelf(root: Location, manifest: Manifest | None) -> ClipArrayShelf | None:
    """The arrays of clips in a folder, recognised by the names of sequences, else None."""
    named = {
        path: place
        for path in matching(root, "*.npy")
        if path.is_file() and (place := place_named(path.stem))
    }
    if not any(_has_clips(path) for path in named):
        return None
    if manifest is None and (root / HIDDEN_FOLDER).is_dir():
        raise UserError(
            f"{root} is an incomplete set without {MANIFEST_FILE}; make it again in another folder."
        )
    files = {place: open_rows(path, "clips") for path, place in named.items()}
    usual = {*named, root / f"{LABELS}.npy", root / f"{CLEAN}.npy"}
    strange = [path.name for path in matching(root, "*.npy") if path not in usual]
    return ClipArrayShelf(root, files, manifest, [unknown_sequence(name) for name in strange])


def _has_clips(path: Location) -> bool:
    try:
        return len(read_header(path)[0]) == CLIP_AXES
    except UserError:
        return False


def _labels(path: Location, count: int) -> list[tuple[int, ...]]:
    try:
        return class_indices(np.load(local_file(path)) if path.is_file() else None, count)
    except (OSError, ValueError, EOFError) as error:
        raise UserError(f"{path} cannot be read as a NumPy array: {error}.") from error
