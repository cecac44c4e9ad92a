"""Finished folders, as ImageNet-C is published: `<corruption>/<severity>/<class>/<picture>`."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from windtunnel import published
from windtunnel.corruptions import SEVERITIES
from windtunnel.data import Sample, is_picture_name, nfc, read_file
from windtunnel.data.finished import CLEAN, Place, named_samples, unfinished_remark
from windtunnel.data.folder import FolderDataset
from windtunnel.data.manifest import Manifest
from windtunnel.errors import UserError
from windtunnel.labels import label_space_of

LEVEL_NAMES = {str(level): level for level in SEVERITIES}


class FolderShelf:
    """The class folders below every corruption and severity."""

    def __init__(self, root: Path, folders: Mapping[Place, Path], manifest: Manifest | None) -> None:
        self._root = root
        self._folders = dict(folders)
        self.places = list(self._folders)
        self.remarks: list[str] = []
        if manifest:
            classes = sorted(set(manifest.samples()["class"].to_pylist()))
            self.label_space, index = label_space_of(classes)
            self.samples = named_samples(manifest, index)
            self.remarks += unfinished_remark(manifest)
            return
        names, self.remarks = _common_names(self._folders)
        if not names:
            raise UserError(f"{root} holds corruption folders without pictures in class folders.")
        self.label_space, index = label_space_of(name.split("/", 1)[0] for name in names)
        self.samples = [Sample(nfc(name), (index[name.split("/", 1)[0]],), {"name": name}) for name in names]

    def read(self, name: str, place: Place) -> bytes:
        """The file of a picture under a corruption and a severity."""
        return read_file(self._folders[place] / name)

    def clean(self) -> FolderDataset | None:
        """The clean canvases beside the corrupted ones."""
        folder = self._root / CLEAN
        return FolderDataset(folder) if folder.is_dir() else None


def folder_shelf(root: Path, manifest: Manifest | None) -> FolderShelf | None:
    """The corruption folders of a root, directly or one folder down (`noise/`, `blur/` ...), else None."""
    folders = _corruption_folders(root)
    if not folders:
        for group in _subfolders(root):
            folders |= _corruption_folders(Path(group.path))
    return FolderShelf(root, folders, manifest) if folders else None


def _corruption_folders(root: Path) -> dict[Place, Path]:
    """Folders that hold severities that hold classes, by corruption and severity."""
    found: dict[Place, Path] = {}
    for corruption in _subfolders(root):
        if corruption.name == CLEAN:
            continue
        levels = {entry.name: Path(entry.path) for entry in _subfolders(Path(corruption.path))}
        known = LEVEL_NAMES | c_bar_strengths().get(corruption.name, {})
        if not levels or not set(levels) <= set(known):
            continue
        if any(_holds_pictures(folder) for folder in levels.values()):
            continue  # pictures straight in numbered folders: somebody's classes, not severities
        for name, folder in sorted(levels.items(), key=lambda item: known[item[0]]):
            found[corruption.name, known[name]] = folder
    return found


@lru_cache(maxsize=1)
def c_bar_strengths() -> dict[str, dict[str, int]]:
    """ImageNet-C-bar's script names severity folders by strength: corruption -> folder name -> severity."""
    rows = csv.DictReader(io.StringIO(published.read_text("c_bar_strengths.csv")))
    return {row["corruption"]: {str(float(row[f"s{level}"])): level for level in SEVERITIES} for row in rows}


def _common_names(folders: Mapping[Place, Path]) -> tuple[list[str], list[str]]:
    """The pictures (`class/name`) that at least half of the folders hold, and remarks on all others."""
    counts: Counter[str] = Counter()
    for folder in folders.values():
        counts.update(_picture_names(folder))
    names = sorted(name for name, count in counts.items() if 2 * count >= len(folders))
    remarks = []
    strange = len(counts) - len(names)
    if strange:
        remarks.append(
            f"{strange:,} pictures are left out: they occur under less than half of the corruptions "
            f"(such as {next(name for name in counts if 2 * counts[name] < len(folders))})."
        )
    missing = sum(len(folders) - counts[name] for name in names)
    if missing:
        remarks.append(
            f"{missing:,} files of {len(names) * len(folders):,} are missing; a picture without one of "
            "them is left out of all scores."
        )
    return names, remarks


def _picture_names(folder: Path) -> Iterator[str]:
    for class_ in _subfolders(folder):
        for entry in os.scandir(class_.path):
            if is_picture_name(entry.name):
                yield f"{class_.name}/{entry.name}"


def _holds_pictures(folder: Path) -> bool:
    return any(is_picture_name(entry.name) for entry in os.scandir(folder) if entry.is_file())


def _subfolders(folder: Path) -> list[os.DirEntry[str]]:
    try:
        entries = [entry for entry in os.scandir(folder) if entry.is_dir() and not entry.name.startswith(".")]
    except OSError as error:
        raise UserError(f"{folder} cannot be read: {error.strerror or error}.") from error
    return sorted(entries, key=lambda entry: entry.name)
