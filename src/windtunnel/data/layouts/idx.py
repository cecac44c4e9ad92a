"""MNIST and sets in its format."""

from __future__ import annotations

from windtunnel.core.locations import Location
from windtunnel.data import Dataset
from windtunnel.data.layouts import DatasetLayout, chosen_split


class Idx(DatasetLayout):
    """`train-images-idx3-ubyte` and `t10k-images-idx3-ubyte`, with their labels."""

    name = "idx"
    help = "MNIST, Fashion-MNIST and other sets in idx files, also compressed by gzip"
    form = "a folder with t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte; #test or #train"
    priority = 26

    def recognises(self, path: Location) -> bool:
        """Whether a folder contains idx files of images."""
        return path.is_dir() and bool(_splits(path))

    def check_part(self, path: Location, part: str) -> None:
        """Nothing: the split is checked on opening."""

    def open(self, path: Location, part: str) -> Dataset:
        """The images of a split."""
        from windtunnel.data.array_files import ArrayFiles, read_idx

        return ArrayFiles(path, chosen_split(path, part, _splits(path)), read_idx)


def _splits(folder: Location) -> list[str]:
    from windtunnel.data.array_files import IDX, IDX_IMAGES, idx_file

    return [split for split in IDX if idx_file(folder, split, IDX_IMAGES)]


idx = Idx()
