"""One condition of a finished set as a data set of its own: `imagenet-c#fog:3`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.data import Dataset, Sample, open_dataset
from windtunnel.data.finished import CLEAN, FinishedDataset
from windtunnel.errors import UserError, unknown_name
from windtunnel.imaging import Image
from windtunnel.labels import LabelSpace


@dataclass(frozen=True)
class StoredPictures:
    """The pictures a finished set holds under one corruption and severity, or its own clean ones."""

    whole: FinishedDataset
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
        """The set's pictures."""
        return self.whole.samples()

    def read(self, sample: Sample) -> bytes | Image:
        """The stored picture."""
        return self.whole.read_under(sample, self.unit, self.level) if self.unit else self.whole.read(sample)


def open_pictures(source: str | Path | Dataset) -> Dataset:
    """Open a data set of which each picture is one picture; of a finished set one condition after `#`."""
    dataset = open_dataset(source)
    if not isinstance(dataset, FinishedDataset):
        return dataset
    found = {
        f"{one.unit}:{one.level}": StoredPictures(dataset, f"{one.unit}:{one.level}", one.unit, one.level)
        for one in dataset.stored
        if one.kind == "corruption"
    }
    if not found:
        raise UserError(f"{dataset.location} holds clips; give a set of pictures.")
    if dataset.made_clean is not None:
        found[CLEAN] = StoredPictures(dataset, CLEAN)
    wanted = str(source).partition("#")[2] if isinstance(source, str | Path) else ""
    if not wanted:
        raise UserError(
            f"{dataset.location} holds {len(found)} conditions; say which, as "
            f"{dataset.location}#{next(iter(found))}."
        )
    if wanted not in found:
        raise unknown_name(f"condition of {dataset.location}", wanted, found)
    return found[wanted]
