"""Hugging Face datasets on disk."""

from __future__ import annotations

from windtunnel.core.locations import Location
from windtunnel.data import Dataset
from windtunnel.data.huggingface_files import PARQUET, is_dataset_folder, open_huggingface
from windtunnel.data.layouts import DatasetLayout


class HuggingFace(DatasetLayout):
    """Parquet files with encoded images, or a folder of `save_to_disk`."""

    name = "huggingface"
    help = "Hugging Face datasets on disk: Parquet files with encoded images, or a folder of save_to_disk"
    form = "FILE.parquet or a folder; #test selects a split, #test,image,label columns as well"
    suffixes = (PARQUET,)
    priority = 25

    def recognises(self, path: Location) -> bool:
        """Whether a path is a Parquet file, or a folder of a saved dataset or of Parquet files."""
        return is_dataset_folder(path) if path.is_dir() else super().recognises(path)

    def check_part(self, path: Location, part: str) -> None:
        """Nothing: splits and columns are checked on opening."""

    def open(self, path: Location, part: str) -> Dataset:
        """The rows of a file or of a split."""
        return open_huggingface(path, part)


huggingface = HuggingFace()
