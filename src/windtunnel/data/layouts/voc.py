"""Pascal VOC folders."""

from __future__ import annotations

from windtunnel.core.locations import Location
from windtunnel.data import Dataset
from windtunnel.data.layouts import DatasetLayout
from windtunnel.data.voc import ANNOTATIONS, IMAGES, VocDataset


class Voc(DatasetLayout):
    """A folder with XML annotations and images."""

    name = "voc"
    help = "images with annotated objects in Pascal VOC's XML files"
    form = (
        "a folder with Annotations/<name>.xml and JPEGImages/<name>.jpg; DIR#val for ImageSets/Main/val.txt"
    )
    priority = 85

    def recognises(self, path: Location) -> bool:
        """Whether a folder has both subfolders."""
        return (path / ANNOTATIONS).is_dir() and (path / IMAGES).is_dir()

    def check_part(self, path: Location, part: str) -> None:
        """Parts are splits, which `open` checks."""

    def open(self, path: Location, part: str) -> Dataset:
        """All annotated images, or those of a split."""
        return VocDataset(path, part)


voc = Voc()
