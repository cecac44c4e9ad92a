"""Class folders inside archives."""

from __future__ import annotations

from windtunnel.core.errors import UserError
from windtunnel.core.locations import Location
from windtunnel.data import Dataset
from windtunnel.data.archive import COMPRESSED_TAR, SUFFIXES, ArchiveDataset, archives_in
from windtunnel.data.layouts import DatasetLayout


class Archive(DatasetLayout):
    """A zip or tar file, or a folder of such files."""

    name = "archive"
    help = "class folders inside archives, read without unpacking"
    form = "FILE.zip or FILE.tar, or a folder of such files, one per class"
    suffixes = SUFFIXES
    priority = 20

    def recognises(self, path: Location) -> bool:
        """Whether a path is an archive, or a folder that contains only archives."""
        if path.is_dir():
            return bool(archives_in(path))
        return super().recognises(path) or (path.is_file() and _is_compressed_tar(path))

    def open(self, path: Location, part: str) -> Dataset:
        """The images inside; an archive has no parts."""
        del part
        if path.is_dir():
            return ArchiveDataset(path, archives_in(path))
        if _is_compressed_tar(path):
            raise UserError(
                f"{path} is a compressed tar, which cannot be read image by image; unpack it first."
            )
        return ArchiveDataset(path, [path])


def _is_compressed_tar(path: Location) -> bool:
    return path.name.lower().endswith(COMPRESSED_TAR)


archive = Archive()
