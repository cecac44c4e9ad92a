"""Training data: one dataset, or several with the share of each in an epoch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from windtunnel.core.errors import UserError
from windtunnel.core.images import Image
from windtunnel.core.labels import LabelSpace
from windtunnel.core.locations import Location
from windtunnel.core.samples import Sample, Surveyed
from windtunnel.core.seeding import digest64
from windtunnel.core.wording import listed
from windtunnel.data import Dataset, ImageSource, open_dataset

Source = str | Location | ImageSource
# One dataset, or pairs of a dataset and its share.
TrainingSource = Source | Sequence[tuple[Source, float]]

# Classes that a message names.
NAMED = 3


class CombinedSets(Dataset):
    """Several datasets of the same classes; the id of an image begins with the number of its set."""

    name: str
    location: str
    label_space: LabelSpace
    portable: bool
    parallel_reads: bool

    def __init__(self, sets: Sequence[Dataset]) -> None:
        first = sets[0]
        for other in sets[1:]:
            _refuse_other_classes(first, other)
        self._sets = tuple(sets)
        self.name = "+".join(part.name for part in sets)
        self.location = ", ".join(part.location for part in sets)
        self.label_space = first.label_space
        self.portable = all(part.portable for part in sets)
        self.parallel_reads = all(part.parallel_reads for part in sets)

    def samples(self) -> Sequence[Sample]:
        """Every image, with labels of the first set's label space."""
        place = {name: number for number, name in enumerate(self.label_space.classes)}
        return [
            replace(
                sample,
                id=f"{number}/{sample.id}",
                labels=tuple(place[part.label_space.classes[label]] for label in sample.labels),
            )
            for number, part in enumerate(self._sets)
            for sample in part.samples()
        ]

    def read(self, sample: Sample) -> bytes | Image:
        """An image's bytes or pixels."""
        own = sample.id.partition("/")[2]
        return self._sets[_set_of(sample)].read(replace(sample, id=own))


def sources_and_shares(data: TrainingSource) -> tuple[list[Source], tuple[float, ...]]:
    """The datasets and their shares, whose sum is 1; no shares for a single dataset."""
    if not isinstance(data, Sequence) or isinstance(data, str):
        return [data], ()
    pairs = list(data)
    if not pairs or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise UserError(
            f"data is {data!r}; give one dataset, or pairs of a dataset and its share, such as "
            "[('train', 0.8), ('stylized', 0.2)]."
        )
    for source, share in pairs:
        number = isinstance(share, int | float) and not isinstance(share, bool)
        if not number or not 0 < share < math.inf:
            raise UserError(f"The share of {source} is {share!r}; give a number above 0, such as 0.5.")
    total = sum(share for _, share in pairs)
    return [source for source, _ in pairs], tuple(share / total for _, share in pairs)


def open_training_data(data: TrainingSource) -> Dataset:
    """The dataset, or several as one."""
    sources, shares = sources_and_shares(data)
    sets = [open_dataset(source) for source in sources]
    return CombinedSets(sets) if shares else sets[0]


def refuse_shared_images(dataset: Dataset, images: Sequence[Surveyed]) -> None:
    """Refuse an image that is in several sets: its share of an epoch would be another than the given one."""
    first: dict[str, Sample] = {}
    for image in images:
        other = first.setdefault(image.content, image.sample)
        if _set_of(other) != _set_of(image.sample):
            raise UserError(
                f"{dataset.location}: {other.id} and {image.sample.id} are the same image (ids begin with "
                "the number of the set); remove it from one of the sets."
            )


def set_sizes(samples: Sequence[Sample], shares: Sequence[float]) -> list[int]:
    """The number of images of each set in an epoch.

    An epoch is as long as it can be with these shares and without an image twice.

    Raises:
        UserError: a set has no image, or so few or so small a share that an epoch contains none.
    """
    present = [0] * len(shares)
    for sample in samples:
        present[_set_of(sample)] += 1
    # A tolerance, because 80 / 0.8 may be a little less than 100.
    length = math.floor(min(count / share for count, share in zip(present, shares, strict=True)) + 1e-9)
    sizes = [min(count, round(share * length)) for count, share in zip(present, shares, strict=True)]
    if not all(sizes):
        raise UserError(
            f"The sets have {listed(present)} readable images, so that an epoch with shares "
            f"{listed([f'{share:g}' for share in shares])} has {listed(sizes)}; give more images, or other "
            "shares."
        )
    return sizes


def epoch_samples(
    samples: Sequence[Sample], shares: Sequence[float], seed: int, epoch: int
) -> Sequence[Sample]:
    """The images of an epoch: all of a single dataset, or of each set a sample by seed and epoch."""
    if not shares:
        return samples
    chosen: list[Sample] = []
    for number, size in enumerate(set_sizes(samples, shares)):
        own = [sample for sample in samples if _set_of(sample) == number]
        rng = np.random.default_rng(digest64("train/sets", seed, epoch, number))
        chosen += [own[row] for row in np.sort(rng.choice(len(own), size, replace=False))]
    return chosen


def _set_of(sample: Sample) -> int:
    return int(sample.id.partition("/")[0])


def _refuse_other_classes(first: Any, other: Any) -> None:
    ours, theirs = set(first.label_space.classes), set(other.label_space.classes)
    if ours != theirs:
        only = [
            f"only {place} has {listed(sorted(names), NAMED)}"
            for place, names in ((first.location, ours - theirs), (other.location, theirs - ours))
            if names
        ]
        raise UserError(
            f"{first.location} and {other.location} have different classes ({'; '.join(only)}); give sets of "
            "the same classes."
        )
