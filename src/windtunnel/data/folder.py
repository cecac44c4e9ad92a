"""Class folders: `<class>/<anything>/<picture>`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from windtunnel.data import PICTURE_SUFFIXES, Sample, is_picture_name, nfc, refuse_duplicates
from windtunnel.errors import PictureError, UserError
from windtunnel.labels import LabelSpace, label_space_of


class FolderDataset:
    """Pictures in one folder per class; pictures directly in the root have no label."""

    portable = True
    parallel_reads = True

    def __init__(self, root: Path) -> None:
        self._root = root
        self.name = root.resolve().name
        self.location = str(root)
        paths = _pictures_below(root)
        if not paths:
            kinds = ", ".join(sorted(PICTURE_SUFFIXES))
            raise UserError(f"{root} holds no pictures; put them in one folder per class ({kinds}).")
        self._samples, self.label_space = labelled_by_folder({nfc(path): path for path in paths}, str(root))
        if len(self._samples) != len(paths):
            raise UserError(f"{root} holds two files whose names differ only in Unicode form; rename one.")

    def samples(self) -> Sequence[Sample]:
        """Every picture, sorted by id."""
        return self._samples

    def read(self, sample: Sample) -> bytes:
        """The file's bytes."""
        try:
            return (self._root / sample.meta["path"]).read_bytes()
        except OSError as error:
            raise PictureError("unreadable", f"cannot read the file: {error.strerror or error}") from error


def labelled_by_folder(paths: dict[str, str], where: str) -> tuple[list[Sample], LabelSpace]:
    """Samples of `id -> path`, labelled by the first folder of the id; files outside any folder have none."""
    space, index = label_space_of(path.split("/", 1)[0] for path in paths if "/" in path)
    samples = []
    for id_, path in sorted(paths.items()):
        folder, slash, _ = id_.partition("/")
        samples.append(Sample(id_, (index[folder],) if slash else (), {"path": path}))
    refuse_duplicates(samples, where)
    return samples, space


def _pictures_below(root: Path) -> list[str]:
    """POSIX paths relative to the root; links to folders are followed once."""
    found: list[str] = []
    visited: set[str] = set()
    for folder, subfolders, files in os.walk(root, followlinks=True):
        real = os.path.realpath(folder)
        if real in visited:
            subfolders.clear()
            continue
        visited.add(real)
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        relative = Path(folder).relative_to(root)
        found += [(relative / name).as_posix() for name in files if is_picture_name(name)]
    return found
