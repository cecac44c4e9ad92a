"""Arrays: `.npz` with images and labels, or `.npy` next to a `labels.npy` (the CIFAR layout)."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.core.images import Image
from windtunnel.core.labels import LabelSpace, index_space
from windtunnel.core.locations import Location, local_file
from windtunnel.core.samples import Sample
from windtunnel.core.wording import counted
from windtunnel.data import Dataset, nfc, refuse_duplicates
from windtunnel.data.label_spaces import MAX_CLASS_INDEX

SUFFIXES = (".npy", ".npz")
# Files that may contain several sets; `#` selects one of them.
WITH_PARTS = ".npz"
# The labels of a precomputed set cover five severities of the same images.
REPEATS = 5
# Names of the array of labels that belongs to an array of images.
PAIRS = (("images", "labels"), ("image", "label"), ("data", "labels"), ("x", "y"), ("X", "y"))


class ArrayDataset(Dataset):
    """Images as one uint8 array (n, height, width[, 1 or 3]), labels as whole numbers.

    Ids are eight-digit row numbers, or the strings of an array `ids`.
    """

    name: str
    location: str
    label_space: LabelSpace

    def __init__(
        self,
        images: NDArray[np.uint8],
        labels: NDArray[Any] | None = None,
        ids: Sequence[str] | None = None,
        name: str = "arrays",
    ) -> None:
        self.name = name
        self.location = name
        self._source: tuple[Location, str] | None = None
        if (
            images.dtype != np.uint8
            or images.ndim not in (3, 4)
            or (images.ndim == 4 and images.shape[3] not in (1, 3))
        ):
            raise UserError(
                f"The images are {images.dtype} {images.shape}; "
                "give uint8 (n, height, width, 3), or without the last axis for grey."
            )
        if not len(images):
            raise UserError(f"{name} contains no images.")
        self._images: NDArray[np.uint8] | None = images
        classes = class_indices(labels, len(images))
        if ids is not None and len(ids) != len(images):
            raise UserError(f"There are {len(ids)} ids for {len(images)} images; give one id per image.")
        row_ids = (
            [nfc(str(id_)) for id_ in ids]
            if ids is not None
            else [f"{row:08d}" for row in range(len(images))]
        )
        self._samples = sorted(
            (Sample(id_, classes[row], {"row": str(row)}) for row, id_ in enumerate(row_ids)),
            key=lambda sample: sample.id,
        )
        refuse_duplicates(self._samples, name)
        count = 1 + max((label for row in classes for label in row), default=-1)
        self.label_space = index_space(count)

    @classmethod
    def open(
        cls,
        path: Location,
        part: str = "",
        labels: NDArray[Any] | None = None,
        ids: Sequence[str] | None = None,
    ) -> ArrayDataset:
        """Read a file; `part` chooses among several sets in one `.npz` (`cifar.npz#test`).

        `labels` and `ids` replace those in or next to the file.
        """
        images, its_labels, its_ids = _load(path, part)
        name = path.stem + (f"-{part}" if part else "")
        dataset = cls(images, its_labels if labels is None else labels, its_ids if ids is None else ids, name)
        dataset.location = str(path) + (f"#{part}" if part else "")
        dataset._source = (path, part)
        return dataset

    @property
    def portable(self) -> bool:
        """Whether another process can open the file."""
        return self._source is not None

    def samples(self) -> Sequence[Sample]:
        """Every image, sorted by id."""
        return self._samples

    def read(self, sample: Sample) -> Image:
        """The image as RGB; a grey image is repeated in all three channels."""
        if self._images is None and self._source is not None:
            self._images = _load(*self._source)[0]
        image = np.asarray(self._images)[int(sample.meta["row"])]
        if image.ndim == 2 or image.shape[2] == 1:
            return np.repeat(image.reshape(*image.shape[:2], 1), 3, axis=2)
        return np.ascontiguousarray(image)

    def __getstate__(self) -> dict[str, object]:
        # A worker opens the file itself; the images are not sent through a pipe.
        return {**self.__dict__, "_images": None if self._source else self._images}


def class_indices(labels: NDArray[Any] | None, count: int) -> list[tuple[int, ...]]:
    """The classes of `count` images, empty without labels; refuses labels that are not class indices."""
    if labels is None:
        return [()] * count
    labels = np.asarray(labels)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (count,) or not np.issubdtype(labels.dtype, np.integer):
        raise UserError(f"The labels are {labels.dtype} {labels.shape}; give {count} class indices from 0.")
    wrong = np.flatnonzero((labels < 0) | (labels > MAX_CLASS_INDEX))
    if len(wrong):
        raise UserError(
            f"The label of row {wrong[0]} is {labels[wrong[0]]} ({counted(len(wrong), 'such row')}); give "
            f"class indices from 0 to {MAX_CLASS_INDEX:,}."
        )
    return [(int(label),) for label in labels]


def _load(path: Location, part: str) -> tuple[NDArray[np.uint8], NDArray[Any] | None, list[str] | None]:
    try:
        if path.suffix.lower() == ".npy":
            labels_file = path.parent / "labels.npy"
            labels = (
                np.load(local_file(labels_file)) if labels_file.is_file() and labels_file != path else None
            )
            images = np.load(local_file(path), mmap_mode="r")
            if labels is not None and len(labels) == REPEATS * len(images):
                labels = labels[: len(images)]  # clean images of a precomputed set, whose labels repeat
            return images, labels, None
        with np.load(local_file(path)) as arrays:
            images_key, labels_key = _keys(arrays, path, part)
            ids = [str(id_) for id_ in arrays["ids"]] if "ids" in arrays else None
            return arrays[images_key], arrays[labels_key] if labels_key else None, ids
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(f"{path} cannot be read as NumPy arrays: {error}.") from error


def _dimensions(arrays: Any, key: str) -> int:
    """The number of axes of an array in an `.npz`, read from its header."""
    with arrays.zip.open(f"{key}.npy") as file:
        version = np.lib.format.read_magic(file)
        reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else None
        return len((reader or np.lib.format.read_array_header_2_0)(file)[0])


def _keys(arrays: Any, path: Location, part: str) -> tuple[str, str]:
    pairs: dict[str, tuple[str, str]] = {}
    for key in arrays.files:
        for images_word, labels_word in PAIRS:
            words = key.split("_")
            if images_word in words and _dimensions(arrays, key) in (3, 4):
                rest = "_".join(word for word in words if word != images_word)
                partner = "_".join(labels_word if word == images_word else word for word in words)
                pairs.setdefault(rest, (key, partner if partner in arrays else ""))
    if part in pairs:
        return pairs[part]
    if len(pairs) == 1 and not part:
        return next(iter(pairs.values()))
    if not pairs:
        raise UserError(
            f"{path} contains {', '.join(arrays.files)}; name the images 'images' and the classes 'labels'."
        )
    choices = ", ".join(f"{path.name}#{rest}" if rest else path.name for rest in sorted(pairs))
    given = f"no set '{part}'" if part else "several sets"
    raise UserError(f"{path} contains {given}; give {choices}.")
