"""Datasets: labelled images as encoded bytes, or as arrays where there are no files."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from windtunnel.core.annotations import Objects
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.images import Image
from windtunnel.core.labels import LabelSpace
from windtunnel.core.locations import Location, location_of
from windtunnel.core.records import FrameChoices, PrecomputedIdentity
from windtunnel.core.samples import FrameRow, Sample, Surveyed
from windtunnel.core.seeding import digest64
from windtunnel.imaging.files import read_file as read_file

if TYPE_CHECKING:
    from windtunnel.data.precomputed import PrecomputedDataset
    from windtunnel.published.natural_sets import NaturalSet

IMAGE_SUFFIXES = frozenset(
    f".{name}" for name in (
        "jpg", "jpeg", "jpe", "jfif", "png", "bmp", "dib", "gif", "webp", "tif", "tiff", "ppm", "pgm",
        "pbm", "pnm", "avif",
    )
)  # fmt: skip


@runtime_checkable
class ImageSource(Protocol):
    """The members that a user's own object needs to be used as a dataset."""

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


class Dataset:
    """Labelled images. A subclass defines the first six members below and overrides the others as needed.

    Attributes:
        name: for reports and for names of folders.
        location: where the images are.
        label_space: the classes.
        portable: whether a worker process can open the images too.
        parallel_reads: whether several threads can read at once.
        natural: the facts of a natural set such as ImageNet-A; None for other datasets.
        layout: the third-party layout that opened the dataset; "" for shipped ones.
    """

    layout = ""

    if TYPE_CHECKING:  # subclasses have fields, attributes or properties of these names

        @property
        def name(self) -> str: ...
        @property
        def location(self) -> str: ...
        @property
        def label_space(self) -> LabelSpace: ...
        @property
        def portable(self) -> bool: ...
        @property
        def parallel_reads(self) -> bool: ...
        @property
        def natural(self) -> NaturalSet | None: ...
    else:
        portable = False
        parallel_reads = False
        natural = None

    def samples(self) -> Sequence[Sample]:
        """Every image, sorted by id."""
        raise NotImplementedError

    def read(self, sample: Sample) -> bytes | Image:
        """An image's encoded bytes, or its pixels if it has no file; raises `ImageError` if unreadable."""
        raise NotImplementedError

    def reader(self) -> Dataset:
        """The dataset for workers, which only read images that they are given; it may be smaller."""
        return self

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the user about the images."""
        return ()

    @property
    def precomputed(self) -> PrecomputedDataset | None:
        """The dataset itself if its images are corrupted already, as in ImageNet-C; None for others."""
        return None

    @property
    def identity(self) -> PrecomputedIdentity | None:
        """What distinguishes the dataset from others, beyond the content that `read` returns."""
        return None

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """Name and role of every part that is scored on its own."""
        return ()

    @property
    def frames(self) -> tuple[FrameRow, ...]:
        """The frames of videos, each with the anchor it belongs to; empty for other datasets."""
        return ()

    @property
    def frame_choices(self) -> FrameChoices | None:
        """How pm-k of annotated frames is measured; None for other datasets."""
        return None

    @property
    def annotations(self) -> Mapping[str, Objects] | None:
        """The objects of every image by its id; None for data without annotated objects."""
        return None

    @property
    def given_clean(self) -> Dataset | None:
        """The clean images that the user gave with `clean`, or None."""
        return None

    @property
    def counting_rules(self) -> NaturalSet | None:
        """The natural set that decides which outputs count; None if the dataset's own classes decide."""
        return self.natural if self.natural is not None and self.natural.output_rule != "own" else None

    def subset(self, samples: Sequence[Sample], count: int, seed: int) -> list[Sample]:
        """About `count` of the images, in proportion to class frequency; 0 for all."""
        return stratified_subset(samples, count, seed)

    def subset_notes(self, _samples: Sequence[Sample]) -> list[str]:
        """Notes for the user about a subset."""
        return []

    def check_content(self, _readable: Sequence[Surveyed]) -> list[str]:
        """Refuse images that cannot be scored together; returns notes for the user about the others."""
        return []

    def reason_left_out(self) -> Callable[[str], str]:
        """A function from the id of an image that is not scored to the reason; "" for unknown images."""
        return lambda _id: ""


class LiveDataset(Dataset):
    """A user's own object that has the members of `ImageSource`."""

    name: str
    location: str
    label_space: LabelSpace
    portable: bool
    parallel_reads: bool

    def __init__(self, source: ImageSource) -> None:
        self._source = source
        self.name = source.name
        self.location = source.location
        self.label_space = source.label_space
        self.portable = source.portable
        self.parallel_reads = bool(getattr(source, "parallel_reads", False))

    def samples(self) -> Sequence[Sample]:
        """Every image."""
        return self._source.samples()

    def read(self, sample: Sample) -> bytes | Image:
        """An image's bytes or pixels."""
        return self._source.read(sample)

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the user about the images."""
        return tuple(getattr(self._source, "notes", ()))


def open_dataset(source: str | Location | ImageSource) -> Dataset:
    """Open a dataset by its path, or `demo`, with the first layout that recognises it.

    The layouts: `windtunnel list layouts`.
    """
    from windtunnel.data.layouts import open_path

    if isinstance(source, Dataset):
        return source
    if isinstance(source, str | Location):
        return open_path(source)
    if isinstance(source, ImageSource):
        return LiveDataset(source)
    raise UserError(
        f"The data is a {type(source).__name__}; give a path, 'demo', or an object with "
        "name, location, label_space, portable, samples() and read()."
    )


def path_and_part(source: str | Location) -> tuple[Location, str]:
    """A path and the text after its last `#`; the name of an existing file may contain `#`."""
    file, mark, part = str(source).rpartition("#")
    whole = location_of(source)
    return (location_of(file), part) if mark and not whole.exists() else (whole, "")


def nfc(text: str) -> str:
    """The text in Unicode form NFC, so that ids from different file systems are equal."""
    return unicodedata.normalize("NFC", text)


def is_image_name(name: str) -> bool:
    """Whether a file name has the suffix of an image; False for hidden files."""
    base = name.rsplit("/", 1)[-1]
    return not base.startswith(".") and PurePosixPath(base).suffix.lower() in IMAGE_SUFFIXES


def refuse_duplicates(samples: Iterable[Sample], where: str) -> None:
    """Refuse a dataset in which two images have the same id."""
    seen: set[str] = set()
    for sample in samples:
        if sample.id in seen:
            raise UserError(f"{where} contains the id '{sample.id}' twice; give every image its own id.")
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
    """A subset of `count` images, stratified by class; the same seed chooses the same images.

    Within a class images are ordered by a keyed hash of their id. Image j of a class of m has the position
    (j + 1/2)/m; the `count` lowest positions form the subset.
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
    """The number of images per group; images with an empty cell belong to no group."""
    return Counter(sample.meta[column] for sample in samples if sample.meta.get(column))


def one_per_group(samples: Sequence[Sample], column: str, seed: int) -> list[Sample]:
    """One image per group, the lowest by a keyed hash; an image without a group is kept."""
    ranked = sorted(samples, key=lambda sample: digest64("group", seed, sample.id))
    chosen = {sample.meta.get(column) or f"\0{sample.id}": sample for sample in reversed(ranked)}
    return sorted(chosen.values(), key=lambda sample: sample.id)
