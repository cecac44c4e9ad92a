"""COCO annotation files."""

from __future__ import annotations

from windtunnel.core.errors import UserError
from windtunnel.core.locations import Location
from windtunnel.data import Dataset
from windtunnel.data.coco import CocoDataset, looks_like_coco
from windtunnel.data.layouts import DatasetLayout
from windtunnel.data.manifest import COPIES, read_manifest
from windtunnel.data.precomputed_folders import corruption_folder


class Coco(DatasetLayout):
    """A JSON file with images, annotations and categories."""

    name = "coco"
    help = "images with annotated objects in a COCO file"
    form = "FILE.json with images, annotations and categories; images next to it, in images/ or ../<name>/"
    suffixes = (".json",)
    priority = 35

    def recognises(self, path: Location) -> bool:
        """Whether a JSON file begins like a COCO file; refuses a folder of copies, which has several."""
        refuse_copies(path)
        return super().recognises(path) and looks_like_coco(path)

    def open(self, path: Location, part: str) -> Dataset:
        """The images that the file lists; it has no parts."""
        del part
        return CocoDataset(path)


def refuse_copies(path: Location) -> None:
    """Refuse the folder of a made set of copies, whose conditions are datasets of their own."""
    manifest = read_manifest(path) if path.is_dir() else None
    if manifest is not None and manifest.recipe.layout == COPIES:
        first = manifest.conditions[0]
        place = corruption_folder((first.unit, first.level))
        file = f"{place}/annotations.json"
        raise UserError(
            f"{path} contains a dataset for every condition; give one of them, such as "
            f"{path / (file if (path / file).is_file() else place)}."
        )


coco = Coco()
