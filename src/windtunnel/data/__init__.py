"""Data sets that hand out encoded bytes (or arrays, where there are no bytes), found by looking."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.images import Image
from windtunnel.core.labels import LabelSpace
from windtunnel.core.samples import Sample
from windtunnel.core.seeding import digest64
from windtunnel.imaging.files import read_file as read_file

IMAGE_SUFFIXES = frozenset(
    f".{name}" for name in (
        "jpg", "jpeg", "jpe", "jfif", "png", "bmp", "dib", "gif", "webp", "tif", "tiff", "ppm", "pgm",
        "pbm", "pnm", "avif",
    )
)  # fmt: skip


@runtime_checkable
class Dataset(Protocol):
    """Labelled images.

    `location` says where they are; `portable` whether a worker process can open them too.
    """

    @property
    def name(self) -> str: ...
    @property
    def location(self) -> str: ...
    @property
    def label_space(self) -> LabelSpace: ...
    @property
    def portable(self) -> bool: ...
    def samples(self) -> Sequence[Sample]: ...
    def read(self, sample: Sample) -> bytes | Image: ...


def open_dataset(source: str | Path | Dataset) -> Dataset:
    """Open a data set by its path, or `demo`.

    A class folder, table, archive, array file, or a finished set such as ImageNet-C or CIFAR-10-C.
    """
    if not isinstance(source, str | Path):
        if not isinstance(source, Dataset):
            raise UserError(
                f"The data is a {type(source).__name__}; give a path, 'demo', or an object with "
                "name, location, label_space, portable, samples() and read()."
            )
        return source
    if str(source) == "demo":
        from windtunnel.data.demo import DigitsDataset

        return DigitsDataset()
    from windtunnel.data import archive, arrays, folder, table
    from windtunnel.data.precomputed import open_finished

    path, part = path_and_part(source)
    if not path.exists():
        raise UserError(
            f"No such data: {path}. Give a folder, a table, an archive or an array file, or 'demo'."
        )
    finished = open_finished(path) if path.is_dir() else None
    if part and path.suffix.lower() != arrays.WITH_PARTS:
        raise UserError(
            f"{path}#{part} is one condition, which `distance` alone takes; give {path}, and --only to a run."
            if finished
            else f"{path} has no part '{part}': only .npz files and finished sets do. Give {path}."
        )
    if finished:
        return finished
    if path.is_dir():
        packed = archive.archives_in(path)
        return archive.ArchiveDataset(path, packed) if packed else folder.FolderDataset(path)
    if not path.is_file():
        raise UserError(f"{path} is no regular file; give a folder, a table, an archive or an array file.")
    suffix = path.suffix.lower()
    openers: dict[str, Callable[[Path], Dataset]] = {
        **dict.fromkeys(table.SUFFIXES, table.TableDataset),
        **dict.fromkeys(archive.SUFFIXES, lambda one: archive.ArchiveDataset(one, [one])),
        **dict.fromkeys(arrays.SUFFIXES, lambda one: arrays.ArrayDataset.open(one, part)),
    }
    if suffix in openers:
        return openers[suffix](path)
    if path.name.lower().endswith(archive.COMPRESSED_TAR):
        raise UserError(f"{path} is a compressed tar, which cannot be read image by image; unpack it first.")
    raise UserError(f"{path} is no data set; give a folder or a file ending in {', '.join(sorted(openers))}.")


def path_and_part(source: str | Path) -> tuple[Path, str]:
    """A path, and what is written after its last `#`; a file whose own name has one is taken as it is."""
    file, mark, part = str(source).rpartition("#")
    return (Path(file), part) if mark and not Path(source).exists() else (Path(source), "")


def nfc(text: str) -> str:
    """One spelling for ids: the same name from two file systems is the same sample."""
    return unicodedata.normalize("NFC", text)


def is_image_name(name: str) -> bool:
    """Whether a file's name says it is an image; hidden files never are."""
    base = name.rsplit("/", 1)[-1]
    return not base.startswith(".") and Path(base).suffix.lower() in IMAGE_SUFFIXES


def refuse_duplicates(samples: Iterable[Sample], where: str) -> None:
    """Refuse a data set in which one id names two images."""
    seen: set[str] = set()
    for sample in samples:
        if sample.id in seen:
            raise UserError(f"{where} holds the id '{sample.id}' twice; every image needs an id of its own.")
        seen.add(sample.id)


def content_hash(content: bytes | Image) -> str:
    """Digest of an image's bytes, or of an array's shape and values."""
    digest = hashlib.blake2b(digest_size=16)
    if isinstance(content, bytes):
        digest.update(content)
    else:
        digest.update(repr(content.shape).encode())
        digest.update(content.tobytes())
    return digest.hexdigest()


def stratified_subset(samples: Sequence[Sample], count: int, seed: int) -> list[Sample]:
    """Choose `count` images, each class in proportion to its size; the same seed chooses the same ones.

    Within a class images are ordered by a keyed hash of their id; the j-th of a class of m stands at
    (j + 1/2)/m, and the `count` lowest stand in the subset.
    """
    if not count or count >= len(samples):
        return list(samples)
    classes: dict[tuple[int, ...], list[tuple[int, Sample]]] = {}
    for sample in samples:
        classes.setdefault(sample.labels, []).append((digest64("subset", seed, sample.id), sample))
    ranked: list[tuple[float, int, Sample]] = []
    for members in classes.values():
        members.sort(key=lambda pair: pair[0])
        ranked += [((j + 0.5) / len(members), key, sample) for j, (key, sample) in enumerate(members)]
    ranked.sort(key=lambda row: row[:2])
    return sorted((sample for _, _, sample in ranked[:count]), key=lambda sample: sample.id)


def require_column(samples: Iterable[Sample], group: str) -> None:
    """Refuse to group by a column that no image has."""
    columns = {name for sample in samples for name in sample.meta}
    if group not in columns:
        raise unknown_name("column to group by", group, columns, "other columns of the data's table")


def group_sizes(samples: Iterable[Sample], column: str) -> Counter[str]:
    """How many images every group has; those of which the column says nothing are in none."""
    return Counter(sample.meta[column] for sample in samples if sample.meta.get(column))


def one_per_group(samples: Sequence[Sample], column: str, seed: int) -> list[Sample]:
    """One image of every group, the lowest by a keyed hash; one that is in no group is its own."""
    ranked = sorted(samples, key=lambda sample: digest64("group", seed, sample.id))
    chosen = {sample.meta.get(column) or f"\0{sample.id}": sample for sample in reversed(ranked)}
    return sorted(chosen.values(), key=lambda sample: sample.id)
