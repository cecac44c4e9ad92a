"""One video: decode it, draw its anchors, and store the frames of their sets."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.wording import counted
from windtunnel.curate.anchor_sampling import FrameWindow, Sampling, sample_windows
from windtunnel.curate.frame_signals import CUT, FramePair, compare_frames
from windtunnel.curate.frame_tables import (
    BEYOND_CUT,
    BOX_OUTSIDE,
    ESTIMATED_TIME,
    IMAGES_FOLDER,
    OUTSIDE_SEGMENT,
    TRUNCATED_VIDEO,
    SetFrame,
    VideoPart,
    VideoRow,
)
from windtunnel.curate.project import Project
from windtunnel.curate.video_labels import FrameLabels, Origin, Segment, labels_of_frames
from windtunnel.data import content_hash
from windtunnel.imaging.codecs import encode
from windtunnel.imaging.videos import VideoError, VideoTimes, decode_frames, video_times
from windtunnel.store.atomic_files import create_file

# The longest name of a video in exports, before its id.
MAX_NAME = 48
ID_SHOWN = 8
# Intervals of frames that differ by more than this share are a variable frame rate.
SAME_INTERVAL = 0.01
# A unit of the time base is allowed in addition, because timestamps are rounded to it (Matroska has
# milliseconds), if it is at most this share of an interval.
ROUNDING = 0.25
# Decimal places of stored signals.
DIGITS = 6


@dataclass(frozen=True)
class VideoItem:
    """One video to be done.

    Attributes:
        name: the name of its part in the project.
        id: hash of the content.
        path: the file.
        segments: its rows in the table of labels; None without a table.
        recipe: digest of everything that determines its frames.
        origin: where the video comes from.
        duplicate_of: the path of another given video with the same content, or "".
    """

    name: str
    id: str
    path: Path
    segments: tuple[Segment, ...] | None
    recipe: str
    origin: Origin
    duplicate_of: str = ""

    @property
    def description(self) -> str:
        """What it is, in an error message."""
        return f"the video {self.path}"

    @property
    def video_name(self) -> str:
        """Its name in exports: letters, digits and `_` of the file's name, and the start of the id."""
        stem = re.sub(r"[^A-Za-z0-9]+", "_", self.path.stem).strip("_")[:MAX_NAME]
        return f"{stem or 'video'}-{self.id[:ID_SHOWN]}"


def frame_sets_of(project: Project, item: VideoItem, sampling: Sampling) -> VideoPart:
    """Decode one video and store the frames of its sets; an unusable video is a row with a reason."""
    row = VideoRow(
        id=item.id,
        name=item.video_name,
        path=item.path.as_posix(),
        sampling=sampling.describe(),
        **dataclasses.asdict(item.origin),
    )
    if item.duplicate_of:
        reason = f"the same content as {item.duplicate_of}"
        return VideoPart(dataclasses.replace(row, status="duplicate", reason=reason))
    try:
        video = video_times(item.path)
        row = _with_facts(row, video)
        times = np.array([frame.time for frame in video.frames])
        truncated = bool(video.truncated)
        table = None if item.segments is None else labels_of_frames(item.segments, times, truncated=truncated)
        if table is not None and not table:
            reason = (
                "no segment of the table is in the video" if item.segments else "the table has no row for it"
            )
            return VideoPart(dataclasses.replace(row, status="unlabelled", reason=reason))
        windows = sample_windows(times, table, sampling, item.id, truncated=truncated)
        frames = _stored_frames(project, item, video, windows, table)
    except VideoError as error:
        return VideoPart(dataclasses.replace(row, status=error.status, reason=error.reason))
    notes = list(video.notes)
    if truncated:
        made = f"{counted(len(windows), 'set')} from the {counted(len(times), 'frame')} before"
        row = dataclasses.replace(row, status="truncated", reason=f"{video.truncated}; {made}")
    elif len(windows) < sampling.anchors:
        notes.append(f"{len(windows)} of {counted(sampling.anchors, 'anchor')} fit at this distance")
    return VideoPart(dataclasses.replace(row, sets=len(windows), notes="; ".join(notes)), tuple(frames))


def _with_facts(row: VideoRow, video: VideoTimes) -> VideoRow:
    times = np.array([frame.time for frame in video.frames])
    intervals = np.diff(times)
    usual = float(np.median(intervals)) if len(intervals) else 0.0
    unit = float(Fraction(video.facts.time_base))
    allowed = SAME_INTERVAL * usual + (unit if unit <= ROUNDING * usual else 0)
    variable = bool(len(intervals)) and bool(np.abs(intervals - usual).max() > allowed)
    return dataclasses.replace(
        row,
        frames=len(video.frames),
        duration=float(times[-1] - times[0]),
        variable_rate=variable,
        rotation=video.rotation,
        matrix=video.matrix,
        colour_range=video.colour_range,
        **dataclasses.asdict(video.facts),
    )


@dataclass(frozen=True)
class _StoredFrame:
    id: str
    file: str
    width: int
    height: int


def _stored_frames(
    project: Project,
    item: VideoItem,
    video: VideoTimes,
    windows: Sequence[FrameWindow],
    table: Mapping[int, FrameLabels] | None,
) -> list[SetFrame]:
    """Decode and store the frames of all windows, one after the other; the rows are ordered by set."""
    wanted = sorted({index for window in windows for index in range(window.first, window.last + 1)})
    folder = project.folder / IMAGES_FOLDER / item.id
    folder.mkdir(parents=True, exist_ok=True)
    stored: dict[int, _StoredFrame] = {}
    pairs: dict[int, FramePair] = {}  # by the index of the later frame
    before: tuple[int, Image] | None = None
    for index, image in decode_frames(item.path, wanted):
        content = encode(image, "png")
        name = content_hash(content)
        create_file(folder / f"{name}.png", content)
        height, width = image.shape[:2]
        stored[index] = _StoredFrame(name, f"{IMAGES_FOLDER}/{item.id}/{name}.png", width, height)
        if before is not None and before[0] == index - 1:
            pairs[index] = compare_frames(before[1], image)
        before = index, image
    labels = _labels(windows, table)
    return [
        _row(item, video, window, index, stored[index], pairs, table, labels.get(index))
        for window in windows
        for index in range(window.first, window.last + 1)
    ]


def _labels(
    windows: Sequence[FrameWindow], table: Mapping[int, FrameLabels] | None
) -> dict[int, tuple[FrameLabels, bool]]:
    """The labels of every frame, and whether they are copied from the nearest anchor.

    A neighbour keeps the labels of the table only where they differ from those of the anchor. Boxes are never
    copied: objects move.
    """
    if table is None:
        return {}
    labels: dict[int, tuple[FrameLabels, bool]] = {}
    nearest: dict[int, int] = {}
    for window in windows:
        anchor = table[window.anchor]
        for index in range(window.first, window.last + 1):
            distance = abs(index - window.anchor)
            if distance >= nearest.get(index, distance + 1):
                continue
            nearest[index] = distance
            own = table.get(index, FrameLabels())
            if own.labels and (own.labels != anchor.labels or not distance):
                labels[index] = own, False
            else:
                labels[index] = FrameLabels(anchor.labels, own.boxes), True
    return labels


def _row(
    item: VideoItem,
    video: VideoTimes,
    window: FrameWindow,
    index: int,
    stored: _StoredFrame,
    pairs: Mapping[int, FramePair],
    table: Mapping[int, FrameLabels] | None,
    labelled: tuple[FrameLabels, bool] | None,
) -> SetFrame:
    offset = index - window.anchor
    # The pairs between the frame and the anchor, that of the frame itself first.
    step = -1 if offset > 0 else 1
    between = [max(place, place + step) for place in range(index, window.anchor, step)]
    pair = pairs[between[0]] if between else None
    given, propagated = labelled or (FrameLabels(), False)
    frame = video.frames[index]
    flags = list(pair.flags) if pair else []
    if any(CUT in pairs[place].flags for place in between):
        flags.append(BEYOND_CUT)
    if table is not None and index not in table:
        flags.append(OUTSIDE_SEGMENT)
    if any(x2 > stored.width or y2 > stored.height for _, _, _, x2, y2 in given.boxes):
        flags.append(BOX_OUTSIDE)
    if frame.estimated:
        flags.append(ESTIMATED_TIME)
    if video.truncated:
        flags.append(TRUNCATED_VIDEO)
    return SetFrame(
        set=f"{item.video_name}/{window.anchor:06d}",
        video=item.id,
        video_name=item.video_name,
        index=index,
        offset=offset,
        pts=frame.pts,
        time=frame.time,
        id=stored.id,
        file=stored.file,
        width=stored.width,
        height=stored.height,
        labels=given.labels,
        label_status="propagated" if propagated else "weak",
        boxes=json.dumps(given.boxes) if given.boxes else "",
        difference=round(pair.difference, DIGITS) if pair else None,
        histogram_distance=round(pair.histogram_distance, DIGITS) if pair else None,
        ssim=round(pair.ssim, DIGITS) if pair else None,
        flags=tuple(flags),
        cut_off=window.cut_off,
    )
