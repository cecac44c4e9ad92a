"""Published files of small images: the pickled batches of CIFAR-10 and CIFAR-100, and MNIST's idx files."""

from __future__ import annotations

import gzip
import io
import math
import pickle
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError, first_line
from windtunnel.core.images import Image
from windtunnel.core.labels import LabelSpace
from windtunnel.core.locations import Location
from windtunnel.core.samples import Sample
from windtunnel.data import Dataset
from windtunnel.data.arrays import ArrayDataset

Arrays = tuple[NDArray[np.uint8], NDArray[np.integer[Any]]]
# The files of every split, as published.
CIFAR_10 = {
    "test": ("test_batch",),
    "train": tuple(f"data_batch_{number}" for number in range(1, 6)),
}
CIFAR_100 = {"test": ("test",), "train": ("train",)}
CIFAR_10_META, CIFAR_100_META = "batches.meta", "meta"
IDX = {"test": "t10k", "train": "train"}
IDX_IMAGES, IDX_LABELS = (
    ("-images-idx3-ubyte", "-images.idx3-ubyte"),
    ("-labels-idx1-ubyte", "-labels.idx1-ubyte"),
)
# The largest array of an idx file.
MOST_IDX_BYTES = 1 << 31
SIDE_PX = 32
# What the published pickles contain; anything else is refused, because a pickle can run any program.
ALLOWED = frozenset({("_reconstruct", "multiarray"), ("ndarray", "numpy"), ("dtype", "numpy")})


class ArrayFiles(Dataset):
    """The images of a split that are read into one array; ids are row numbers, as of other arrays."""

    name: str
    location: str
    label_space: LabelSpace
    portable = True

    def __init__(self, folder: Location, split: str, load: Callable[[Location, str], Arrays]) -> None:
        self.name = f"{folder.resolve().name}-{split}"
        self.location = f"{folder}#{split}"
        self._source = folder, split, load
        self._arrays: ArrayDataset | None = ArrayDataset(*load(folder, split), name=self.name)
        self._samples = self._arrays.samples()
        self.label_space = self._arrays.label_space

    def samples(self) -> Sequence[Sample]:
        """Every image, in the order of rows."""
        return self._samples

    def read(self, sample: Sample) -> Image:
        """The image as RGB."""
        if self._arrays is None:
            folder, split, load = self._source
            self._arrays = ArrayDataset(*load(folder, split), name=self.name)
        return self._arrays.read(sample)

    def __getstate__(self) -> dict[str, object]:
        # A worker opens the files itself; the images are not sent through a pipe.
        return {**self.__dict__, "_arrays": None}


def cifar_files(folder: Location) -> Mapping[str, tuple[str, ...]]:
    """The batches of a folder of CIFAR-10 or CIFAR-100 by split; empty for other folders."""
    for meta, splits in ((CIFAR_10_META, CIFAR_10), (CIFAR_100_META, CIFAR_100)):
        if (folder / meta).is_file():
            return {split: names for split, names in splits.items() if (folder / names[0]).is_file()}
    return {}


def read_cifar(folder: Location, split: str) -> Arrays:
    """Images and class indices of a split; of CIFAR-100 the fine classes."""
    images, labels = [], []
    for name in cifar_files(folder)[split]:
        batch = _unpickled(folder / name)
        data, own = batch.get(b"data"), batch.get(b"fine_labels", batch.get(b"labels"))
        if (
            not isinstance(data, np.ndarray)
            or data.dtype != np.uint8
            or data.shape[1:] != (3 * SIDE_PX**2,)
            or not isinstance(own, list)
            or len(own) != len(data)
        ):
            raise UserError(
                f"{folder / name} contains no batch of CIFAR images and labels; download it again."
            )
        images.append(data.reshape(-1, 3, SIDE_PX, SIDE_PX).transpose(0, 2, 3, 1))
        labels.append(np.asarray(own))
    return np.ascontiguousarray(np.concatenate(images)), np.concatenate(labels)


class _BatchUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (name, module.rpartition(".")[2]) not in ALLOWED or module.partition(".")[0] != "numpy":
            raise pickle.UnpicklingError(f"it contains {module}.{name}")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def _unpickled(file: Location) -> dict[bytes, Any]:
    """The content of a published pickle; refuses pickles that contain anything but arrays and texts."""
    try:
        content = _BatchUnpickler(io.BytesIO(file.read_bytes()), encoding="bytes").load()
    except Exception as error:  # a damaged pickle raises exceptions of many kinds
        raise UserError(
            f"{file} cannot be read as a batch of CIFAR images: {first_line(error)}; download it again."
        ) from error
    return content if isinstance(content, dict) else {}


def idx_file(folder: Location, split: str, endings: Sequence[str]) -> Location | None:
    """The idx file of a split, plain or compressed by gzip; None if there is none."""
    names = (f"{IDX[split]}{ending}{packed}" for ending in endings for packed in ("", ".gz"))
    return next((folder / name for name in names if (folder / name).is_file()), None)


def read_idx(folder: Location, split: str) -> Arrays:
    """Images and class indices of a split in MNIST's format."""
    images, labels = (idx_file(folder, split, endings) for endings in (IDX_IMAGES, IDX_LABELS))
    if images is None or labels is None:
        raise UserError(f"{folder} lacks the images or the labels of {IDX[split]}; download both.")
    return _idx_array(images, 3), _idx_array(labels, 1)


def _idx_array(file: Location, axes: int) -> NDArray[np.uint8]:
    """The array of an idx file: two zero bytes, type 8 (uint8), the number of axes, sizes, values."""
    size = 4 + 4 * axes
    incomplete = UserError(f"{file} is no complete idx file of {axes} axes; download it again.")
    try:
        with file.open("rb") as stored, _unpacked(stored, file) as stream:
            header = stream.read(size)
            if len(header) < size or header[:4] != bytes((0, 0, 8, axes)):
                raise incomplete
            shape = struct.unpack(f">{axes}I", header[4:])
            count = math.prod(shape)
            if count > MOST_IDX_BYTES:
                raise UserError(f"{file} declares {count:,} bytes; at most {MOST_IDX_BYTES:,} are read.")
            # One byte more than declared: a compressed file may stand for any number of bytes.
            values = stream.read(count + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{file} cannot be read: {error}; download it again.") from error
    if len(values) != count:
        raise incomplete
    return np.frombuffer(values, np.uint8).reshape(shape)


def _unpacked(stored: BinaryIO, file: Location) -> BinaryIO:
    return cast("BinaryIO", gzip.GzipFile(fileobj=stored)) if file.suffix == ".gz" else stored
