"""The stored images of a project's candidates as a dataset."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

from windtunnel.core.candidates import Candidate
from windtunnel.core.labels import LabelSpace
from windtunnel.core.progress import Progress, silent
from windtunnel.core.samples import Sample, Surveyed
from windtunnel.curate.project import changed_media
from windtunnel.data import Dataset, read_file
from windtunnel.data.label_spaces import label_space_of
from windtunnel.data.survey import survey


class CandidateImages(Dataset):
    """Candidates of a project, labelled by their weak labels.

    Attributes:
        rows: the candidates, by id.
    """

    name: str
    location: str
    label_space: LabelSpace
    portable = True
    parallel_reads = True

    def __init__(self, folder: Path, rows: Sequence[Candidate], classes: Sequence[str] = ()) -> None:
        self._folder = folder.absolute()
        self.name = self._folder.name
        self.location = str(folder)
        self.rows = tuple(sorted(rows, key=lambda row: row.id))
        labels = {row.label for row in rows if row.label}
        self.label_space, index = label_space_of([*labels, *classes])
        self._samples = [
            Sample(row.id, (index[row.label],) if row.label else (), {"file": row.file}) for row in self.rows
        ]

    def samples(self) -> Sequence[Sample]:
        """Every candidate, sorted by id."""
        return self._samples

    def read(self, sample: Sample) -> bytes:
        """The bytes of the stored image."""
        return read_file(self._folder / sample.meta["file"])

    def reader(self) -> Dataset:
        """The dataset without its list of candidates."""
        reader = copy.copy(self)
        reader.rows, reader._samples = (), []
        return reader

    def surveyed(self, samples: Sequence[Sample], progress: Progress = silent) -> list[Surveyed]:
        """Header and content of candidates; refuses an image that was changed after it was collected."""
        images = survey(self, samples, progress)
        for image in images:
            if image.content not in ("", image.sample.id):
                raise changed_media(self._folder / image.sample.meta["file"])
        return images
