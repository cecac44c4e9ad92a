"""One folder of images per class."""

from __future__ import annotations

from windtunnel.core.locations import Location
from windtunnel.data import Dataset
from windtunnel.data.folder import FolderDataset
from windtunnel.data.layouts import DatasetLayout


class ClassFolders(DatasetLayout):
    """`<class>/<image>`; any folder that no other layout recognises."""

    name = "class-folders"
    help = "one folder of images per class; images outside these folders have no label"
    form = "a folder with <class>/<anything>/<image>"
    priority = 10

    def recognises(self, path: Location) -> bool:
        """Whether a path is a folder."""
        return path.is_dir()

    def open(self, path: Location, part: str) -> Dataset:
        """The images below a folder; it has no parts."""
        del part
        return FolderDataset(path)


class_folders = ClassFolders()
