"""COCO annotation files."""

from __future__ import annotations

from windtunnel.core.locations import Location
from windtunnel.data import Dataset
from windtunnel.data.coco import CocoDataset, looks_like_coco
from windtunnel.data.layouts import DatasetLayout


class Coco(DatasetLayout):
    """A JSON file with images, annotations and categories."""

    name = "coco"
    help = "images with annotated objects in a COCO file"
    form = "FILE.json with images, annotations and categories; images next to it, in images/ or ../<name>/"
    suffixes = (".json",)
    priority = 35

    def recognises(self, path: Location) -> bool:
        """Whether a JSON file begins like a COCO file."""
        return super().recognises(path) and looks_like_coco(path)

    def open(self, path: Location, part: str) -> Dataset:
        """The images that the file lists; it has no parts."""
        del part
        return CocoDataset(path)


coco = Coco()
