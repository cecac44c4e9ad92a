"""How a made set is stored on disk: one writer per layout, with the same methods.

A piece is the result of one image under one condition: a file, or rows of an array.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import UserError
from windtunnel.core.images import Image
from windtunnel.core.locations import Location, local_path
from windtunnel.core.option_names import option
from windtunnel.corruptions import SEVERITIES
from windtunnel.data.manifest import checksum
from windtunnel.data.precomputed import CLEAN
from windtunnel.data.precomputed_arrays import LABELS
from windtunnel.data.precomputed_clips import name_of
from windtunnel.data.precomputed_folders import corruption_folder
from windtunnel.imaging.clips import H264, VIDEO_SUFFIX, encode_clip
from windtunnel.imaging.codecs import encode, round_trip, suffix_of
from windtunnel.sequences import sequence_of
from windtunnel.store.atomic_files import write_whole


@dataclass(frozen=True)
class Piece:
    """Bytes that were written: path, condition, number and digest."""

    path: str
    condition: str
    start: int
    bytes: int
    digest: str


@dataclass(frozen=True)
class Fixed:
    """A file, or its header, that belongs to no image: its first bytes, and the size of the whole file."""

    head: bytes
    size: int


# Arrays are written in place, which only local files allow.
ARRAYS = "set of arrays"


# An image's name, its condition, and the canvases before they are stored: one, or a clip's frames.
Made = tuple[str, Condition, Iterable[Image]]


class Layout(Protocol):
    """A way to store images on disk."""

    def fixed(self) -> dict[str, Fixed]:
        """The files that belong to no image."""
        ...

    def prepare(self, root: Location) -> None:
        """Create or repair the fixed files."""
        ...

    def write(self, root: Location, made: Iterable[Made]) -> list[Piece]:
        """Write the images of a chunk as they are made; returns the pieces that were written."""
        ...


def write_image(target: Location, content: bytes) -> None:
    """Write a file atomically; creates its folders."""
    target.parent.mkdir(parents=True, exist_ok=True)
    # Not durable as a run's shards are: a file lost in a power failure is detected by its checksum.
    write_whole(target, content, durable=False)


@dataclass(frozen=True)
class Folders:
    """Files in class folders: images, frames or videos, and `clean/<class>/<name>.png`.

    <corruption>/<severity>/<class>/<name>.JPEG       images, as ImageNet-C is published
    <corruption>/<class>/<name>.JPEG                  images of a corruption with one strength
    <perturbation>[_2|_3]/<class>/<name>/<frame>.png  frames
    <perturbation>[_2|_3]/<class>/<name>.mp4          videos, as ImageNet-P is published
    """

    def fixed(self) -> dict[str, Fixed]:
        """None: every file is an image."""
        return {}

    def prepare(self, root: Location) -> None:
        """Nothing: folders appear with their first file."""

    def write(self, root: Location, made: Iterable[Made]) -> list[Piece]:
        """Write every file atomically."""
        pieces = []
        for name, condition, canvases in made:
            for path, content in _files(f"{folder_of(condition)}/{name}", condition, canvases):
                write_image(root / path, content)
                pieces.append(Piece(path, condition.name, 0, len(content), checksum(content)))
        return pieces


@dataclass(frozen=True)
class Copies(Folders):
    """Copies of whole images: `<corruption>/<severity>/<name>`, where the name has its suffix."""

    def write(self, root: Location, made: Iterable[Made]) -> list[Piece]:
        """Write every file atomically."""
        pieces = []
        for name, condition, canvases in made:
            path = f"{folder_of(condition)}/{name}"
            for image in canvases:
                content = encode(image, condition.codec)
                write_image(root / path, content)
                pieces.append(Piece(path, condition.name, 0, len(content), checksum(content)))
        return pieces


def _files(place: str, condition: Condition, canvases: Iterable[Image]) -> Iterator[tuple[str, bytes]]:
    """The files of an image under a condition, by path."""
    if condition.codec == H264:
        yield f"{place}{VIDEO_SUFFIX}", encode_clip(canvases, sequence_of(condition).type)
        return
    suffix = suffix_of(condition.codec)
    for number, image in enumerate(canvases):
        within = f"/{number:03d}" if condition.is_sequence else ""
        yield f"{place}{within}{suffix}", encode(image, condition.codec)


def folder_of(condition: Condition) -> str:
    """The folder of a condition's images in a set of folders."""
    if condition.is_sequence:
        return name_of((condition.unit, condition.level))
    return CLEAN if condition.is_clean else corruption_folder((condition.unit, condition.level))


@dataclass(frozen=True)
class Arrays:
    """`<unit>.npy`, `labels.npy`, and `clean.npy`, with each image or clip at its row.

    Corruptions have five severities one after another, as CIFAR-10-C is published, and so have their labels.
    Sequences have a clip in every row, like CIFAR-10-P. Readers of CIFAR-10-P open arrays by name and expect
    no labels, so an additional `labels.npy` does not affect them.

    Attributes:
        conditions: the conditions to make.
        labels: the class index of every image.
        height, width: size of every image.
    """

    conditions: tuple[Condition, ...]
    labels: tuple[int, ...]
    height: int
    width: int

    def fixed(self) -> dict[str, Fixed]:
        """The labels, and the header of every array."""
        files = {array_of(condition): self._head(condition) for condition in self.conditions}
        kind = np.uint8 if max(self.labels) < 256 else np.int64
        repeats = max(_levels(condition) for condition in self.conditions)
        out = io.BytesIO()
        np.save(out, np.tile(np.array(self.labels, kind), repeats))
        return files | {f"{LABELS}.npy": Fixed(out.getvalue(), len(out.getvalue()))}

    def _head(self, condition: Condition) -> Fixed:
        frames = (condition.frames,) if condition.is_sequence else ()
        shape = (_levels(condition) * len(self.labels), *frames, self.height, self.width, 3)
        out = io.BytesIO()
        header = {"descr": "|u1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(out, header)
        return Fixed(out.getvalue(), len(out.getvalue()) + int(np.prod(shape)))

    def prepare(self, root: Location) -> None:
        """Create missing arrays at their full size; the system allocates the space on writing."""
        wrong = {name: fixed for name, fixed in self.fixed().items() if not is_intact(root / name, fixed)}
        needed = sum(fixed.size for name, fixed in wrong.items() if not (root / name).exists())
        free = shutil.disk_usage(local_path(root, ARRAYS)).free
        if needed > free:
            raise UserError(
                f"The arrays take {needed / 1e9:.1f} GB and {root} has {free / 1e9:.1f} GB left; "
                f"choose another place, or make less with {option('only')}."
            )
        for name, fixed in wrong.items():
            path = root / name
            if not path.exists():
                write_whole(path, fixed.head)
            with local_path(path, ARRAYS).open("r+b") as file:
                file.write(fixed.head)
                file.truncate(fixed.size)

    def write(self, root: Location, made: Iterable[Made]) -> list[Piece]:
        """Write the rows of a chunk, condition by condition, each block at its place in an array."""
        blocks: dict[str, tuple[Condition, int, bytearray]] = {}
        for name, condition, canvases in made:
            _, _, block = blocks.setdefault(condition.name, (condition, int(name), bytearray()))
            for image in canvases:
                block += round_trip(image, condition.codec).tobytes()
        return [self._write_block(root, *block) for block in blocks.values()]

    def _write_block(self, root: Location, condition: Condition, row: int, content: bytearray) -> Piece:
        name, head = array_of(condition), self._head(condition)
        first = row + (condition.level - 1) * len(self.labels) if condition.is_corruption else row
        row_bytes = condition.frames * self.height * self.width * 3
        start = len(head.head) + first * row_bytes
        with local_path(root / name, ARRAYS).open("r+b") as file:
            file.seek(start)
            file.write(content)
        return Piece(name, condition.name, start, len(content), checksum(content))


def array_of(condition: Condition) -> str:
    """The file of a condition's images in a set of arrays."""
    name = condition.unit if condition.is_corruption else folder_of(condition)
    return f"{name}.npy"


def _levels(condition: Condition) -> int:
    """The number of levels of a condition in one array."""
    return len(SEVERITIES) if condition.is_corruption else 1


def is_intact(path: Location, fixed: Fixed) -> bool:
    """Whether a file has the expected header and size."""
    if not path.is_file() or path.stat().st_size != fixed.size:
        return False
    with path.open("rb") as file:
        return file.read(len(fixed.head)) == fixed.head
