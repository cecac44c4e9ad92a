"""CIFAR-10 and CIFAR-100 as published for Python."""

from __future__ import annotations

from windtunnel.core.locations import Location
from windtunnel.data import Dataset
from windtunnel.data.layouts import DatasetLayout, chosen_split


class CifarBatches(DatasetLayout):
    """`cifar-10-batches-py` and `cifar-100-python`."""

    name = "cifar-batches"
    help = "CIFAR-10 and CIFAR-100 as published for Python, in pickled batches"
    form = "the folder cifar-10-batches-py or cifar-100-python; #test or #train"
    priority = 26

    def recognises(self, path: Location) -> bool:
        """Whether a folder contains the published batches."""
        from windtunnel.data.array_files import cifar_files

        return path.is_dir() and bool(cifar_files(path))

    def check_part(self, path: Location, part: str) -> None:
        """Nothing: the split is checked on opening."""

    def open(self, path: Location, part: str) -> Dataset:
        """The images of a split."""
        from windtunnel.data.array_files import ArrayFiles, cifar_files, read_cifar

        return ArrayFiles(path, chosen_split(path, part, cifar_files(path)), read_cifar)


cifar_batches = CifarBatches()
