"""Class folders of several splits, as torchvision stores ImageNet."""

from __future__ import annotations

from windtunnel.core.locations import Location, entries
from windtunnel.data import Dataset
from windtunnel.data.folder import FolderDataset
from windtunnel.data.layouts import DatasetLayout, chosen_split

SPLITS = frozenset({"train", "training", "val", "valid", "validation", "dev", "test", "testing"})


class SplitFolders(DatasetLayout):
    """`train/<class>/<image>` and `val/<class>/<image>`."""

    name = "split-folders"
    help = "class folders of several splits; one of them is read"
    form = "a folder with train/<class>/<image> and val/<class>/<image>; #val"
    priority = 15

    def recognises(self, path: Location) -> bool:
        """Whether all folders in a folder are named after splits, two at least, and one has class folders."""
        splits = _folders(path) if path.is_dir() else []
        return len(splits) > 1 and set(splits) <= SPLITS and any(_folders(path / split) for split in splits)

    def check_part(self, path: Location, part: str) -> None:
        """Nothing: the split is checked on opening."""

    def open(self, path: Location, part: str) -> Dataset:
        """The images of a split."""
        return FolderDataset(path / chosen_split(path, part, _folders(path)))


def _folders(folder: Location) -> list[str]:
    return [entry.name for entry in entries(folder) if entry.is_dir() and not entry.name.startswith(".")]


split_folders = SplitFolders()
