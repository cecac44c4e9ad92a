"""Splits of video frames: no video has frames on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.core.errors import UserError
from windtunnel.core.locations import Location
from windtunnel.core.samples import FrameRow, Sample
from windtunnel.core.seeding import digest64
from windtunnel.core.wording import counted, listed
from windtunnel.data import Dataset, ImageSource, open_dataset, require_column
from windtunnel.data.chosen_images import ChosenImages
from windtunnel.data.frame_sets import VIDEO

# Classes that a message names.
CLASSES_NAMED = 3


@dataclass(frozen=True)
class ChosenVideos(ChosenImages):
    """The images of some videos of a dataset."""

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the user about the images of the whole dataset."""
        return self.source.notes

    @property
    def frames(self) -> tuple[FrameRow, ...]:
        """The frames of complete frame sets."""
        own = {sample.id for sample in self.chosen}
        cut = {frame.group for frame in self.source.frames if frame.sample_id not in own}
        return tuple(frame for frame in self.source.frames if frame.group not in cut)


def split_by_video(
    data: str | Location | ImageSource, share: float = 0.2, *, seed: int = 0, column: str = ""
) -> tuple[Dataset, Dataset]:
    """Frames for training and frames of other videos for evaluation.

    Args:
        data: frames of videos, or a table with a column of groups.
        share: the share of videos for evaluation; at least one video is on each side.
        seed: chooses the videos.
        column: the column that names the video of an image; by default `video`.

    Raises:
        UserError: images have no video, there is only one, no video of a class is left for training, or the
            dataset has rules of its own, such as ImageNet-A or ImageNet-C.
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
        raise UserError(f"share is {share!r}; give a number between 0 and 1, such as 0.2.")
    dataset = open_dataset(data)
    if dataset.natural is not None or dataset.precomputed is not None:
        raise UserError(
            f"{dataset.location} is a test set with rules of its own, which a part of it would not "
            "follow; give other images."
        )
    samples = dataset.samples()
    video_of = _videos(dataset, samples, column or VIDEO, given=bool(column))
    videos = sorted(set(video_of.values()), key=lambda video: digest64("video split", seed, video))
    if len(videos) < 2:
        raise UserError(f"{dataset.location} has frames of one video; a split needs at least two.")
    held_out = set(videos[: min(len(videos) - 1, max(1, round(share * len(videos))))])

    def part(name: str, evaluated: bool) -> Dataset:
        chosen = tuple(sample for sample in samples if (video_of[sample.id] in held_out) is evaluated)
        return ChosenVideos(
            f"{dataset.name} ({name})", dataset.location, dataset.label_space, dataset, chosen
        )

    training, evaluation = part("training videos", False), part("evaluation videos", True)
    _refuse_missing_classes(training, samples)
    return training, evaluation


def _videos(dataset: Dataset, samples: Sequence[Sample], column: str, *, given: bool) -> dict[str, str]:
    """The video of every image by its id; refuses images without one."""
    if given:
        require_column(samples, column)
    elif not any(column in sample.meta for sample in samples):
        raise UserError(
            f"{dataset.location} does not name the video of its images; give column, the column of a table "
            "that names it. A column of frame sets will do only if no video has two sets."
        )
    if empty := [sample.id for sample in samples if not sample.meta.get(column)]:
        raise UserError(
            f"{dataset.location}: the column {column} is empty for {counted(len(empty), 'image')}, first "
            f"{empty[0]}; fill it, because other frames of the same video may be on the other side."
        )
    return {sample.id: sample.meta[column] for sample in samples}


def _refuse_missing_classes(training: Dataset, samples: Sequence[Sample]) -> None:
    trained = {label for sample in training.samples() for label in sample.labels}
    missing = sorted({label for sample in samples for label in sample.labels} - trained)
    if missing:
        names = [training.label_space.classes[label] for label in missing]
        raise UserError(
            f"All videos of {counted(len(names), 'class', 'classes')} are for evaluation "
            f"({listed(names, CLASSES_NAMED)}); give another seed, a smaller share, or more videos."
        )
