"""WebDataset shards."""

from __future__ import annotations

from windtunnel.core.locations import Location
from windtunnel.data import Dataset
from windtunnel.data.archive import archives_in
from windtunnel.data.layouts import DatasetLayout
from windtunnel.data.shard_patterns import files_of, is_pattern

SUFFIX = ".tar"


class WebDatasetShards(DatasetLayout):
    """A tar file of images and labels, a pattern that names several, or a folder of them."""

    name = "webdataset"
    help = "WebDataset shards: tar files with an image and its label (.cls or .json) for each key"
    form = "FILE.tar, 'shards-{000..003}.tar' or a folder of shards; #png,json:label selects members"
    suffixes = (SUFFIX,)
    patterns = True
    priority = 25

    def recognises(self, path: Location) -> bool:
        """Whether the first shard contains images with labels of the same key."""
        from windtunnel.data.webdataset import is_shard

        if path.suffix.lower() == SUFFIX and is_pattern(path):
            return True
        shards = self._shards(path)
        return bool(shards) and is_shard(shards[0])

    def check_part(self, path: Location, part: str) -> None:
        """Nothing: the extensions are checked on opening."""

    def open(self, path: Location, part: str) -> Dataset:
        """The images of the shards; `part` has the extensions of images and labels."""
        from windtunnel.data.webdataset import WebDataset, one_series

        if is_pattern(path):
            return WebDataset(path, files_of(path), part)
        shards = self._shards(path)
        if path.is_dir():
            one_series(path, shards)
        return WebDataset(path, shards, part)

    def _shards(self, path: Location) -> list[Location]:
        """The tar file, or those of a folder that contains only tar files."""
        if path.is_dir():
            files = archives_in(path)
            return files if all(file.suffix.lower() == SUFFIX for file in files) else []
        return [path] if super().recognises(path) else []


webdataset = WebDatasetShards()
