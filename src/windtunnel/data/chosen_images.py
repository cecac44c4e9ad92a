"""Some images of a dataset, also with other labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from windtunnel.core.images import Image
from windtunnel.core.labels import LabelSpace
from windtunnel.core.samples import Sample
from windtunnel.data import Dataset


@dataclass(frozen=True)
class ChosenImages(Dataset):
    """Some images of a dataset.

    Attributes:
        label_space: that of the labels of `chosen`; it may be another than that of `source`.
        source: the dataset that reads the images.
        chosen: the images.
    """

    name: str
    location: str
    label_space: LabelSpace
    source: Dataset
    chosen: tuple[Sample, ...] = field(repr=False)

    @property
    def portable(self) -> bool:
        """Whether a worker process can open the images too."""
        return self.source.portable

    @property
    def parallel_reads(self) -> bool:
        """Whether several threads can read at once."""
        return self.source.parallel_reads

    def samples(self) -> Sequence[Sample]:
        """The chosen images."""
        return self.chosen

    def read(self, sample: Sample) -> bytes | Image:
        """An image's bytes or pixels."""
        return self.source.read(sample)
