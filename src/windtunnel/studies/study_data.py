"""The training and test images of a study, checked before any work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.core.errors import UserError
from windtunnel.core.locations import is_inside
from windtunnel.core.samples import Sample, Surveyed
from windtunnel.core.training_records import TrainingData
from windtunnel.core.wording import counted, listed
from windtunnel.data import Dataset, open_dataset
from windtunnel.imaging.geometry import Geometry
from windtunnel.train.training_recipe import training_data
from windtunnel.train.training_sets import Source, TrainingSource, open_training_data, sources_and_shares
from windtunnel.train.views import labelled, readable

MOST_LISTED = 3


@dataclass(frozen=True)
class StudyData:
    """The images of a study.

    Attributes:
        train, test: the datasets.
        source: the training images, as `windtunnel.train.fit` takes them.
        shares: of several training sets, the share of each.
        train_images, images: the training and the test images that can be read.
        labels: the class of every test image, as an output of the models.
        notes: notes for the reader.
    """

    train: Dataset
    test: Dataset
    source: TrainingSource
    shares: tuple[float, ...]
    train_images: tuple[Surveyed, ...]
    images: tuple[Surveyed, ...]
    labels: tuple[int, ...]
    notes: tuple[str, ...]

    @property
    def portable(self) -> bool:
        """Whether other processes can open the data."""
        return self.train.portable and self.test.portable

    @property
    def locations(self) -> list[str]:
        """The places of all datasets."""
        pairs = self.source if isinstance(self.source, list) else [(self.train, 1.0)]
        return [*(dataset.location for dataset, _ in pairs), self.test.location]

    def train_record(self) -> TrainingData:
        """The record of the training images."""
        return training_data(self.train, self.train_images, self.shares)

    def test_record(self) -> TrainingData:
        """The record of the test images."""
        return training_data(self.test, self.images)


def open_study_data(
    train: TrainingSource,
    test: Source,
    folder: Path,
    ways: Sequence[Geometry],
    *,
    subset: int = 0,
    shared_limit: float = 0.0,
) -> StudyData:
    """Open and survey the images of a study.

    Args:
        train, test: the datasets; training images may be several sets with shares.
        folder: the study's folder, which may not be inside the images.
        ways: every decoding that images must withstand.
        subset: the number of test images, in proportion to class frequency; 0 for all.
        shared_limit: the largest share of test images that may be training images as well.
    """
    sources, shares = sources_and_shares(train)
    sets = [open_dataset(source) for source in sources]
    source: TrainingSource = list(zip(sets, shares, strict=True)) if shares else sets[0]
    train_data, test_data = open_training_data(source), open_dataset(test)
    for dataset in (*sets, test_data):
        if is_inside(folder, dataset.location):
            raise UserError(f"{folder} is inside {dataset.location}; give a folder outside the images.")
    if test_data.precomputed:
        raise UserError(
            f"{test_data.location} contains corrupted images already; give clean test images, which the "
            "study corrupts itself."
        )
    train_images, train_notes = _readable(train_data, labelled(train_data), ways)
    chosen = labelled(test_data)
    if subset:
        chosen = sorted(test_data.subset(chosen, subset, 0), key=lambda sample: sample.id)
    images, test_notes = _readable(test_data, chosen, ways)
    if len(images) < 2:
        raise UserError(f"{test_data.location} gives one test image; give two or more, or a larger subset.")
    labels = _as_outputs(train_data, test_data, images)
    shared_note = _refuse_shared(train_data, test_data, train_images, images, shared_limit)
    return StudyData(
        train_data, test_data, source, shares, tuple(train_images), tuple(images), labels,
        (*train_notes, *test_notes, *shared_note),
    )  # fmt: skip


def _readable(
    dataset: Dataset, samples: Sequence[Sample], ways: Sequence[Geometry]
) -> tuple[list[Surveyed], list[str]]:
    """The labelled images that can be read, and a note on the others."""
    surveyed = readable(dataset, samples, ways)
    images = [image for image in surveyed if image.status == "ok"]
    lost = [f"{image.sample.id}: {image.reason}" for image in surveyed if image.status != "ok"]
    if not images:
        raise UserError(f"No image of {dataset.location} can be read ({lost[0]}).")
    if not lost:
        return images, []
    count = counted(len(lost), "image")
    return images, [f"{count} of {dataset.location} cannot be read: {listed(lost, MOST_LISTED)}."]


def _as_outputs(train: Dataset, test: Dataset, images: Sequence[Surveyed]) -> tuple[int, ...]:
    """The class of every test image, by its place among the classes of the training images."""
    classes, own = train.label_space.classes, test.label_space.classes
    places = {name: number for number, name in enumerate(classes)}
    if unknown := [name for name in own if name not in places]:
        raise UserError(
            f"{test.location} has the class {unknown[0]}, which {train.location} does not have "
            f"({counted(len(unknown), 'such class', 'such classes')}); test on the classes of the training."
        )
    return tuple(places[own[image.sample.labels[0]]] for image in images)


def _refuse_shared(
    train: Dataset,
    test: Dataset,
    train_images: Sequence[Surveyed],
    test_images: Sequence[Surveyed],
    limit: float,
) -> list[str]:
    """Refuse test images that models are trained on; a note if there are few enough."""
    known = {image.content for image in train_images}
    shared = sum(image.content in known for image in test_images)
    if shared > limit * len(test_images):
        raise UserError(
            f"{shared:,} of {counted(len(test_images), 'test image')} of {test.location} are training images "
            f"of {train.location} as well; give images that no model is trained on."
        )
    return [f"{counted(shared, 'test image')} of {test.location} are training images too."] if shared else []
