"""Images that a data set has and a run does not score: predictions of them are ignored, and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from windtunnel.core.wording import counted
from windtunnel.data import Dataset
from windtunnel.data.frame_layouts import FrameFiles
from windtunnel.data.natural_sets import NaturalDataset
from windtunnel.data.precomputed import CLEAN, FinishedDataset
from windtunnel.data.precomputed_folders import FolderShelf

OTHER_CLASSES = "clean images of other classes"
OTHER_FRAMES = "frames of no scored frame set"
OTHER_FOLDERS = "images of folders that are not scored"
NOT_CORRUPTED = "clean images without a corrupted copy"
RARE = "images that under half of the corruptions have"

Reason = Callable[[str], str]


@dataclass
class Ignored:
    """Rows of predictions that are ignored.

    Attributes:
        rows: how many, by reason.
        examples: an id, by reason.
    """

    rows: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, rows: Mapping[str, int], reasons: Mapping[str, str]) -> None:
        """Count the rows of ids that are left out for these reasons."""
        for sample_id, count in rows.items():
            reason = reasons[sample_id]
            self.rows[reason] += count
            self.examples.setdefault(reason, sample_id)

    @property
    def remark(self) -> str:
        """How many rows are ignored and why, with an example of each; "" for none."""
        if not self.rows:
            return ""
        told = "; ".join(
            f"{count:,} of {reason} (such as '{self.examples[reason]}')"
            for reason, count in self.rows.items()
        )
        return f"{counted(self.rows.total(), 'row')} of predictions ignored, of images not scored: {told}."


def reason_left_out(dataset: Dataset) -> Reason:
    """A function that says why an image is not scored, by its id; "" where the data has no such image.

    Its ids are those that the run does not have.
    """
    if isinstance(dataset, NaturalDataset):
        return _of_natural(dataset)
    if isinstance(dataset, FinishedDataset):
        return _of_finished(dataset)
    return lambda _id: ""


def _of_natural(dataset: NaturalDataset) -> Reason:
    own = dataset.images.dataset
    ids = {sample.id for sample in own.samples()}
    beside = dataset.clean.dataset.samples() if dataset.clean else ()
    clean = {f"{CLEAN}/{sample.id}" for sample in beside}

    def reason(sample_id: str) -> str:
        if sample_id in clean:
            return OTHER_CLASSES
        if isinstance(own, FrameFiles):
            return OTHER_FRAMES if own.holds(sample_id) else ""
        return OTHER_FOLDERS if sample_id in ids else ""

    return reason


def _of_finished(dataset: FinishedDataset) -> Reason:
    clean = {sample.id for sample in dataset.clean.samples()} if dataset.clean else set()
    rare = dataset.shelf.rare if isinstance(dataset.shelf, FolderShelf) else frozenset()

    def reason(sample_id: str) -> str:
        if sample_id in rare:
            return RARE
        return NOT_CORRUPTED if sample_id in clean else ""

    return reason
