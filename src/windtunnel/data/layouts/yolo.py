"""YOLO folders."""

from __future__ import annotations

from windtunnel.core.locations import Location, entries
from windtunnel.data import Dataset
from windtunnel.data.layouts import DatasetLayout
from windtunnel.data.yolo import IMAGES, LABELS, NAME_FILES, YoloDataset


class Yolo(DatasetLayout):
    """A folder with a list of classes, images and text files of objects."""

    name = "yolo"
    help = "images with annotated objects in YOLO's text files"
    form = "a folder with data.yaml or classes.txt, images/ and labels/; DIR#val for images/val or val/images"
    priority = 84

    def recognises(self, path: Location) -> bool:
        """Whether a folder has a list of classes, and images and labels in it or in its subfolders."""
        if not path.is_dir() or not any((path / name).is_file() for name in NAME_FILES):
            return False
        folders = [path, *(path / entry.name for entry in entries(path) if entry.is_dir())]
        return any((folder / IMAGES).is_dir() and (folder / LABELS).is_dir() for folder in folders)

    def check_part(self, path: Location, part: str) -> None:
        """Parts are splits, which `open` checks."""

    def open(self, path: Location, part: str) -> Dataset:
        """All images, or those of a split."""
        return YoloDataset(path, part)


yolo = Yolo()
