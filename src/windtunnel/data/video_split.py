"""Splits of video frames: no video has frames on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.core.errors import UserError
from windtunnel.core.images import Image
from windtunnel.core.labels import LabelSpace
from windtunnel.core.locations import Location
from windtunnel.core.samples import FrameRow, Sample
from windtunnel.core.seeding import digest64
from windtunnel.data import Dataset, ImageSource, open_dataset, require_column
from windtunnel.data.frame_sets import video_column


@dataclass(frozen=True)
class VideoPart(Dataset):
    """Some videos of a dataset."""

    name: str
    location: str
    label_space: LabelSpace
    source: Dataset
    chosen: tuple[Sample, ...]

    @property
    def portable(self) -> bool:
        """Whether a worker process can open the images too."""
        return self.source.portable

    @property
    def parallel_reads(self) -> bool:
        """Whether several threads can read at once."""
        return self.source.parallel_reads

    @property
    def frames(self) -> tuple[FrameRow, ...]:
        """The frames of complete frame sets."""
        own = {sample.id for sample in self.chosen}
        cut = {frame.group for frame in self.source.frames if frame.sample_id not in own}
        return tuple(frame for frame in self.source.frames if frame.group not in cut)

    def samples(self) -> Sequence[Sample]:
        """The images of these videos."""
        return self.chosen

    def read(self, sample: Sample) -> bytes | Image:
        """An image's bytes or pixels."""
        return self.source.read(sample)


def split_by_video(
    data: str | Location | ImageSource, share: float = 0.2, *, seed: int = 0, column: str = ""
) -> tuple[Dataset, Dataset]:
    """Frames for training and frames of other videos for evaluation.

    Args:
        data: frames of videos, or a table with a column of groups.
        share: the share of videos for evaluation; at least one video is on each side.
        seed: chooses the videos.
        column: the column that names the video of an image; by default the dataset's own.

    Raises:
        UserError: there are no videos, or only one.
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
        raise UserError(f"share is {share!r}; give a number between 0 and 1, such as 0.2.")
    dataset = open_dataset(data)
    samples = dataset.samples()
    if column:
        require_column(samples, column)
    column = column or video_column(samples)
    if not column:
        raise UserError(
            f"{dataset.location} does not name the video of its images; give column, the column of a table "
            "that names it."
        )
    # An image without a video is a group of its own.
    video_of = {sample.id: sample.meta.get(column) or f"\0{sample.id}" for sample in samples}
    videos = sorted(set(video_of.values()), key=lambda video: digest64("video split", seed, video))
    if len(videos) < 2:
        raise UserError(f"{dataset.location} has frames of one video; a split needs at least two.")
    held_out = set(videos[: min(len(videos) - 1, max(1, round(share * len(videos))))])

    def part(name: str, evaluated: bool) -> Dataset:
        chosen = tuple(sample for sample in samples if (video_of[sample.id] in held_out) is evaluated)
        return VideoPart(f"{dataset.name} ({name})", dataset.location, dataset.label_space, dataset, chosen)

    return part("training videos", False), part("evaluation videos", True)
