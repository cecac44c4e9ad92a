"""Frame sets of annotated frames: a COCO file whose images have a video and a frame number."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from windtunnel.core.calls import Parameter, Value, parse_arguments
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.locations import Location
from windtunnel.core.option_names import option
from windtunnel.core.records import FrameChoices
from windtunnel.core.samples import FrameRow, Sample
from windtunnel.core.wording import counted
from windtunnel.data import Dataset, nfc, open_dataset
from windtunnel.data.frame_sets import ANCHOR, NEIGHBOUR, VIDEO
from windtunnel.data.natural_sets import Images
from windtunnel.published.natural_sets import NaturalSet

# The key of a frame's number in `Sample.meta`.
FRAME = "frame"
APART, LISTED = "apart", "listed"
EVERY = re.compile(r"every:([1-9]\d*)")
WHAT = "frame_sets"
# Choices by which every frame of a video is in a set.
EVERY_FRAME = "k=0, anchors=every:1"
DEFAULTS = FrameChoices()
PARAMETERS = (
    Parameter("k", DEFAULTS.k, "largest distance of a neighbour from its anchor, in frames", 0),
    Parameter("anchors", DEFAULTS.anchors, "apart, every:N, or a file of image names"),
    Parameter("iou", DEFAULTS.iou, "overlap at which a detection matches an object", 0.05, 1),
    Parameter("absent", DEFAULTS.absent, "detections of absent categories", choices=("ignored", "counted")),
    Parameter("ties", DEFAULTS.ties, "worst of equally bad frames", choices=("nearest", "earliest")),
    Parameter("anchor", DEFAULTS.anchor, "anchor as worst frame", choices=("included", "excluded")),
)
USAGE = ", ".join(parameter.written for parameter in PARAMETERS)
# Frames of a video by number.
Video = Mapping[int, Sample]


def parse_choices(text: str) -> FrameChoices:
    """How pm-k is measured, as users write it: `k=5, anchors=every:3`; "" for the defaults."""
    given = parse_arguments(text, text, USAGE)
    known = {parameter.name: parameter for parameter in PARAMETERS}
    values: dict[str, Value] = {}
    for name, value in given.items():
        if name not in known:
            raise unknown_name(f"name in {option('frame_sets')}", name, known)
        values[name] = known[name].checked(value, WHAT)
    return FrameChoices(**values)  # type: ignore[arg-type]  # checked by their parameters


def refuse_frame_sets(text: str) -> None:
    """Refuse choices for frame sets that the data declares itself, and for other data."""
    if text:
        raise UserError(
            f"{option('frame_sets')} makes frame sets of annotated frames; give a COCO file whose images "
            f"have video_id and frame_index, with {option('suite', 'pm-k')}, or leave it out."
        )


def annotated_dataset(source: str | Location | Dataset) -> Dataset | None:
    """The dataset at a source if its images have annotated objects; None for others."""
    if isinstance(source, Dataset):
        return source if source.annotations is not None else None
    if not str(source).lower().endswith(".json"):
        return None
    dataset = open_dataset(source)
    return dataset if dataset.annotations is not None else None


def annotated_frames(natural: NaturalSet, dataset: Dataset, choices: FrameChoices) -> Images:
    """The frames of videos with annotated objects, in sets around anchors.

    An anchor's neighbours are the frames of its video whose numbers differ by at most k. Frames that belong
    to no set are left out.
    """
    videos = _videos(dataset)
    anchors = _anchors(videos, dataset, choices)
    frames = tuple(row for video, number in anchors for row in _set_of(videos[video], number, choices.k))
    used = {frame.sample_id for frame in frames}
    samples = [sample for sample in dataset.samples() if sample.id in used]
    left_out = len(dataset.samples()) - len(samples)
    notes = [*dataset.notes]
    if left_out:
        notes.append(f"{counted(left_out, 'image')} of {len(dataset.samples()):,} belong to no frame set.")
    if choices.anchors != APART and EVERY.fullmatch(choices.anchors) is None:
        choices = msgspec.structs.replace(choices, anchors=LISTED)
    return Images(
        natural.part,
        natural.role,
        dataset,
        samples,
        dataset.label_space,
        frames,
        notes=tuple(notes),
        choices=choices,
    )


def _videos(dataset: Dataset) -> dict[str, dict[int, Sample]]:
    """The frames of every video by their number; refuses two frames of the same number."""
    videos: dict[str, dict[int, Sample]] = defaultdict(dict)
    for sample in dataset.samples():
        if VIDEO not in sample.meta or FRAME not in sample.meta:
            continue
        video, number = sample.meta[VIDEO], int(sample.meta[FRAME])
        other = videos[video].setdefault(number, sample)
        if other is not sample:
            raise UserError(
                f"{dataset.location}: {other.id} and {sample.id} are both frame {number} of video {video}; "
                "correct frame_index."
            )
    if not videos:
        raise UserError(
            f"{dataset.location} has no frames of videos; give every image a video_id and a frame_index."
        )
    return dict(videos)


def _anchors(videos: Mapping[str, Video], dataset: Dataset, choices: FrameChoices) -> list[tuple[str, int]]:
    """Video and number of every anchor."""
    every = EVERY.fullmatch(choices.anchors)
    if choices.anchors != APART and every is None:
        return _listed_anchors(choices.anchors, videos, dataset)
    step = int(every[1]) if every else 2 * choices.k + 1
    anchors = []
    for video, frames in sorted(videos.items()):
        first, last = min(frames) + choices.k, max(frames) - choices.k
        anchors += [(video, number) for number in range(first, last + 1, step) if number in frames]
    if not anchors:
        longest = max(max(frames) - min(frames) + 1 for frames in videos.values())
        raise UserError(
            f"No video of {dataset.location} has {2 * choices.k + 1} frames around an anchor (the longest "
            f"has {longest}); give a smaller k, such as {option('frame_sets', f'k={(longest - 1) // 2}')}."
        )
    return anchors


def _listed_anchors(file: str, videos: Mapping[str, Video], dataset: Dataset) -> list[tuple[str, int]]:
    """The anchors that a file lists, one image name in every line."""
    if not Path(file).is_file():
        raise UserError(
            f"{option('frame_sets')} has anchors={file}, which is no file; give apart, every:N or a file "
            "with an image name in every line."
        )
    names = [nfc(line.strip()) for line in Path(file).read_text("utf-8").splitlines() if line.strip()]
    place = {
        sample.id: (video, number) for video, frames in videos.items() for number, sample in frames.items()
    }
    unknown = [name for name in names if name not in place]
    if unknown or not names:
        what = f"names {unknown[0]}, which is no frame of a video of" if unknown else "names no image of"
        raise UserError(f"{file} {what} {dataset.location}; give file names as in the COCO file.")
    return sorted({place[name] for name in names})


def _set_of(frames: Video, number: int, k: int) -> Sequence[FrameRow]:
    """The rows of an anchor and of its neighbours, the anchor first."""
    name = frames[number].id
    near = [
        FrameRow(name, frames[number + offset].id, offset, NEIGHBOUR)
        for offset in range(-k, k + 1)
        if offset and number + offset in frames
    ]
    return [FrameRow(name, name, 0, ANCHOR), *near]
