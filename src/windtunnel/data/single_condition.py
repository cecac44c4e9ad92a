"""Datasets with one image per sample: a condition of a precomputed set, or a natural set's own images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.images import Image
from windtunnel.core.labels import LabelSpace
from windtunnel.core.locations import Location
from windtunnel.core.samples import Sample
from windtunnel.data import Dataset, open_dataset, path_and_part
from windtunnel.data.layouts import open_precomputed
from windtunnel.data.natural_detection import detect_natural_set
from windtunnel.data.natural_layouts import open_own_images
from windtunnel.data.natural_sets import NaturalDataset
from windtunnel.data.own_sets import DECLARATION, own_natural_set
from windtunnel.data.precomputed import CLEAN, PrecomputedDataset
from windtunnel.data.shelf import place_text
from windtunnel.published.natural_sets import natural_set


@dataclass(frozen=True)
class StoredImages(Dataset):
    """The images of a precomputed set under one corruption and severity, or its clean images."""

    whole: PrecomputedDataset
    condition: str
    unit: str = ""
    level: int = 0

    portable = False

    @property
    def name(self) -> str:
        """Set and condition."""
        return f"{self.whole.name}#{self.condition}"

    @property
    def location(self) -> str:
        """Where the set is, and the condition."""
        return f"{self.whole.location}#{self.condition}"

    @property
    def label_space(self) -> LabelSpace:
        """The set's classes."""
        return self.whole.label_space

    def samples(self) -> Sequence[Sample]:
        """The set's images."""
        return self.whole.samples()

    def read(self, sample: Sample) -> bytes | Image:
        """The stored image."""
        return self.whole.read_under(sample, self.unit, self.level) if self.unit else self.whole.read(sample)


def open_images(source: str | Location | Dataset) -> tuple[Dataset, tuple[str, ...]]:
    """Open a dataset with one image per sample; returns it with notes on how it was read.

    Of a precomputed set this is the condition given after `#`; of a natural set its own images without the
    clean ones, as a run reads them.
    """
    if isinstance(source, str | Location):
        path, part = path_and_part(source)
        if path.is_dir() and (precomputed := open_precomputed(path)):
            return _stored(precomputed, part), ()
    elif (dataset := open_dataset(source)).precomputed is not None:
        return _stored(dataset.precomputed, ""), ()
    return open_as_run_reads(source)


def open_as_run_reads(source: str | Location | Dataset) -> tuple[Dataset, tuple[str, ...]]:
    """Open a dataset as a run reads it; returns it with notes on how it was read.

    Of a natural set only its own images are opened.
    """
    if isinstance(source, NaturalDataset):
        return NaturalDataset(source.natural, source.images, None), source.images.notes
    dataset = open_dataset(source)
    name = "" if dataset.precomputed else detect_natural_set(source)
    if not name:
        return dataset, ()
    title = natural_set(name).title
    try:
        natural = open_own_images(source, name)
    except UserError as error:
        return dataset, (f"The files are read unchanged. A run would refuse them as {title}: {error}",)
    by = DECLARATION if own_natural_set(source) else "its name or its folders"
    read = f"Read as {title}, recognised by {by}, as in a run."
    return natural, (read, *natural.images.notes)


def _stored(dataset: PrecomputedDataset, wanted: str) -> StoredImages:
    """The images of the condition `wanted` of a precomputed set."""
    conditions = {
        (name := place_text((condition.unit, condition.level))): StoredImages(
            dataset, name, condition.unit, condition.level
        )
        for condition in dataset.stored
        if condition.is_corruption
    }
    if not conditions:
        raise UserError(f"{dataset.location} contains clips; give a set of images.")
    if dataset.made_clean is not None:
        conditions[CLEAN] = StoredImages(dataset, CLEAN)
    if not wanted:
        raise UserError(
            f"{dataset.location} contains {len(conditions)} conditions; give one of them, such as "
            f"{dataset.location}#{next(iter(conditions))}."
        )
    if wanted not in conditions:
        raise unknown_name(f"condition of {dataset.location}", wanted, conditions)
    return conditions[wanted]
