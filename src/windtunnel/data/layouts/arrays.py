"""NumPy arrays of images."""

from __future__ import annotations

from windtunnel.core.locations import Location
from windtunnel.data import Dataset
from windtunnel.data.arrays import SUFFIXES, WITH_PARTS, ArrayDataset
from windtunnel.data.layouts import DatasetLayout, no_such_part


class Arrays(DatasetLayout):
    """A `.npz` or `.npy` file."""

    name = "arrays"
    help = "images and labels as NumPy arrays"
    form = "FILE.npz with images and labels (several sets: FILE.npz#test), or FILE.npy next to labels.npy"
    suffixes = SUFFIXES
    priority = 30

    def check_part(self, path: Location, part: str) -> None:
        """Refuse parts of files other than `.npz`."""
        if path.suffix.lower() != WITH_PARTS:
            raise no_such_part(path, part)

    def open(self, path: Location, part: str) -> Dataset:
        """The images of a file, or of one of several sets in it."""
        return ArrayDataset.open(path, part)


arrays = Arrays()
