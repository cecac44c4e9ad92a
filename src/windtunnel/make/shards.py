"""A made set as WebDataset shards: tar files of images with their class indices."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import BinaryIO

from windtunnel.core.locations import Location
from windtunnel.data.manifest import DIGEST_BYTES
from windtunnel.data.precomputed_shards import shard_path
from windtunnel.data.webdataset import TEXT
from windtunnel.imaging.codecs import encode, suffix_of
from windtunnel.make.layouts import Fixed, Made, Piece, folder_of
from windtunnel.store.atomic_files import writing_whole

# A tar file ends with two empty blocks, and its size is a multiple of a record.
END = bytes(2 * tarfile.BLOCKSIZE)


class _Shard:
    """A tar file that is written member by member; the same members give the same bytes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
        self._size = 0

    def add(self, name: str, content: bytes) -> None:
        """Add a member without owner and time."""
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        self._write(entry.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape"))
        self._write(content + bytes(-len(content) % tarfile.BLOCKSIZE))

    def end(self, path: str, condition: str) -> Piece:
        """Add the end of the file; returns what was written."""
        self._write(END)
        self._write(bytes(-self._size % tarfile.RECORDSIZE))
        return Piece(path, condition, 0, self._size, self._digest.hexdigest())

    def _write(self, content: bytes) -> None:
        self._stream.write(content)
        self._digest.update(content)
        self._size += len(content)


@dataclass(frozen=True)
class Shards:
    """`<corruption>/<severity>/<number>.tar` and `clean/<number>.tar`, with one shard per chunk.

    The key of an image is its class folder and name; its members are the image and `.cls`, the class index.

    Attributes:
        rows: by key, the place of the image in the set.
        labels: by place, the class index.
        chunk: the number of images in a shard.
    """

    rows: dict[str, int]
    labels: tuple[int, ...]
    chunk: int

    def fixed(self) -> dict[str, Fixed]:
        """None: every file contains images."""
        return {}

    def prepare(self, root: Location) -> None:
        """Nothing: folders appear with their first file."""

    def write(self, root: Location, made: Iterable[Made]) -> list[Piece]:
        """Write a shard for each condition; all of them appear when the chunk is complete."""
        shards: dict[str, tuple[str, _Shard]] = {}
        with ExitStack() as streams:
            for name, condition, canvases in made:
                row = self.rows[name]
                if condition.name not in shards:
                    path = shard_path(folder_of(condition), row // self.chunk)
                    (root / path).parent.mkdir(parents=True, exist_ok=True)
                    stream = streams.enter_context(writing_whole(root / path))
                    shards[condition.name] = path, _Shard(stream)
                _, shard = shards[condition.name]
                for image in canvases:
                    shard.add(f"{name}{suffix_of(condition.codec).lower()}", encode(image, condition.codec))
                    shard.add(f"{name}.{TEXT}", str(self.labels[row]).encode())
            return [shard.end(path, condition) for condition, (path, shard) in shards.items()]
