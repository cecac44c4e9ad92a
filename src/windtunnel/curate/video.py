"""Frame sets from videos: an anchor frame and the frames around it, stored without loss."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.conditions import digest
from windtunnel.core.errors import UserError
from windtunnel.core.extras import installed_version
from windtunnel.core.file_digests import file_digest
from windtunnel.core.interruption import finishing_items
from windtunnel.core.progress import Progress, silent
from windtunnel.core.wording import counted
from windtunnel.curate import frame_signals
from windtunnel.curate.anchor_sampling import FrameWindow, Sampling, sample_windows
from windtunnel.curate.frame_signals import FramePair, compare_frames
from windtunnel.curate.frame_tables import (
    BEYOND_CUT,
    BOX_OUTSIDE,
    ESTIMATED_TIME,
    IMAGES_FOLDER,
    OUTSIDE_SEGMENT,
    SetFrame,
    VideoPart,
    VideoRow,
    read_parts,
    stored_recipe,
    write_tables,
)
from windtunnel.curate.project import Project, counts
from windtunnel.curate.video_labels import FrameLabels, LabelTable, Segment, labels_of_frames
from windtunnel.data import content_hash
from windtunnel.engine.executors import Workers
from windtunnel.engine.jobs import Advance, ItemFunction, Needs
from windtunnel.imaging.clips import load_av
from windtunnel.imaging.codecs import encode
from windtunnel.imaging.videos import VideoError, VideoTimes, decode_frames, video_times
from windtunnel.store.atomic_files import create_file

STEP = "video"
# Increased when the same options give other frames, signals or flags.
VERSION = 1
# Files that are read from a folder of videos.
SUFFIXES = frozenset(
    [
        ".3gp",
        ".asf",
        ".avi",
        ".flv",
        ".gif",
        ".h264",
        ".ivf",
        ".m2ts",
        ".m4v",
        ".mj2",
        ".mkv",
        ".mov",
        ".mp4",
        ".mpeg",
        ".mpg",
        ".mts",
        ".mxf",
        ".nut",
        ".ogv",
        ".ts",
        ".webm",
        ".wmv",
    ]
)
# The longest name of a video in exports, before its id.
MAX_NAME = 48
ID_SHOWN = 8
# Intervals of frames that differ by more than this share are a variable frame rate.
SAME_INTERVAL = 0.01


@dataclass(frozen=True)
class VideoItem:
    """One video to be done.

    Attributes:
        name: the name of its part in the project.
        id: hash of the content.
        path: the file.
        segments: its rows in the table of labels; None without a table.
        recipe: digest of everything that determines the result.
        duplicate_of: the path of another given video with the same content, or "".
    """

    name: str
    id: str
    path: Path
    segments: tuple[Segment, ...] | None
    recipe: str
    duplicate_of: str = ""

    @property
    def description(self) -> str:
        """What it is, in an error message."""
        return f"the video {self.path}"

    @property
    def video_name(self) -> str:
        """Its name in exports: the file's, without other characters than letters, digits and `_`, and the id."""
        stem = re.sub(r"[^A-Za-z0-9]+", "_", self.path.stem).strip("_")[:MAX_NAME]
        return f"{stem or 'video'}-{self.id[:ID_SHOWN]}"


@dataclass(frozen=True)
class VideoJob:
    """What a worker does with a video: decode it, sample anchors, store frames and a part."""

    project: Path
    sampling: Sampling
    inputs: tuple[Path, ...]

    @property
    def needs(self) -> Needs:
        """The videos and the project's folder."""
        return Needs(
            inputs=self.inputs, output=self.project.absolute(), versions={"av": installed_version("av")}
        )

    def begin(self) -> ItemFunction[VideoItem]:
        """A function that does one video."""
        project = Project(self.project)

        def do(item: VideoItem, advance: Advance) -> str:
            part = frame_sets_of(project, item, self.sampling)
            part.write(project, item.name, item.recipe)
            advance(1, int(part.video.status != "ok"))
            return part.video.status

        return do


@dataclass(frozen=True)
class FrameSets:
    """The frame sets of a project after the step.

    Attributes:
        project: the folder.
        videos: a row for every video, also those that cannot be used.
        sets: the number of frame sets.
        frames: the number of their frames; a frame of two sets counts twice.
        cut_off: the number of sets that the start or the end of their video cuts off.
        flags: how many frames have each flag.
        unchanged: how many of the given videos were already done with the same options.
    """

    project: Path
    videos: tuple[VideoRow, ...]
    sets: int
    frames: int
    cut_off: int
    flags: Mapping[str, int]
    unchanged: int


def find_videos(given: Sequence[str | Path]) -> list[Path]:
    """The video files that are given or lie in given folders, sorted in each folder."""
    files: list[Path] = []
    for text in given:
        path = Path(text)
        if path.is_dir():
            inside = sorted(
                file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file()
            )
            if not inside:
                raise UserError(f"{path} contains no video; files such as .mp4, .mkv and .avi are read.")
            files += inside
        elif path.is_file():
            files.append(path)
        else:
            raise UserError(f"No such video: {path}. Give a video file, or a folder that contains some.")
    if not files:
        raise UserError("No video is given; give video files or folders.")
    return list(dict.fromkeys(files))


def make_frame_sets(
    project: Project,
    videos: Sequence[Path],
    sampling: Sampling,
    labels: LabelTable | None = None,
    *,
    workers: Workers = Workers(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> FrameSets:
    """Add the frame sets of videos to a project; a video that was done with the same options is kept.

    Args:
        project: the project, which is created if it does not exist.
        videos: video files.
        sampling: which anchors are drawn, and how many frames around them.
        labels: labels of segments; None for sets without labels.
        workers: how many, and where.
        progress: counts videos; those that cannot be used count as failed.
    """
    load_av()
    workers.check(portable=True, live="")
    if labels is not None:
        labels.check_names(videos)
    with project.created():
        items = _items(videos, sampling, labels)
        missing = [item for item in items if stored_recipe(project, item.name) != item.recipe]
        progress(len(items) - len(missing), len(items))
        if missing:
            job = VideoJob(project.folder, sampling, tuple(item.path.absolute() for item in missing))

            def advance(done: int, failed: int) -> None:
                progress(done, len(items), failed)

            executor = workers.executor_for(len(missing))
            with finishing_items():
                for _ in executor.work(job, missing, workers.count, advance, workers.address):
                    pass
        parts = read_parts(project)
        write_tables(project, [part for part, _ in parts.values()])
        result = _result(project, [part for part, _ in parts.values()], len(items) - len(missing))
        summary = {
            "videos": counts(video.status for video in result.videos),
            "sets": result.sets,
            "frames": result.frames,
            "cut_off": result.cut_off,
            "flags": result.flags,
        }
        project.finish(STEP, {name: recipe for name, (_, recipe) in parts.items()}, summary)
    return result


def _result(project: Project, parts: Sequence[VideoPart], unchanged: int) -> FrameSets:
    frames = [frame for part in parts for frame in part.frames]
    videos = sorted((part.video for part in parts), key=lambda video: (video.name, video.path))
    return FrameSets(
        project.folder,
        tuple(videos),
        sum(part.video.sets for part in parts),
        len(frames),
        sum(1 for frame in frames if frame.cut_off and not frame.offset),
        counts(flag for frame in frames for flag in frame.flags),
        unchanged,
    )


def _items(videos: Sequence[Path], sampling: Sampling, labels: LabelTable | None) -> list[VideoItem]:
    """The work: a video whose content was given before is a duplicate of that one."""
    items: list[VideoItem] = []
    first: dict[str, Path] = {}
    for path in videos:
        id_ = file_digest(path)
        same = first.setdefault(id_, path)
        segments = None if labels is None else labels.of_video(path)
        recipe = {
            "version": VERSION,
            "av": installed_version("av"),
            "sampling": dataclasses.asdict(sampling),
            "segments": None if segments is None else [dataclasses.asdict(segment) for segment in segments],
            "duplicate": same is not path,
        }
        name = id_ if same is path else f"{id_}-{digest({'path': path.as_posix()})}"
        other = "" if same is path else same.as_posix()
        items.append(VideoItem(name, id_, path, segments, digest(recipe), other))
    return items


def frame_sets_of(project: Project, item: VideoItem, sampling: Sampling) -> VideoPart:
    """Decode one video and store the frames of its sets; a video that cannot be used is a row with a reason."""
    row = VideoRow(id=item.id, name=item.video_name, path=item.path.as_posix())
    if item.duplicate_of:
        reason = f"the same content as {item.duplicate_of}"
        return VideoPart(dataclasses.replace(row, status="duplicate", reason=reason))
    try:
        video = video_times(item.path)
        row = _with_facts(row, video)
        times = np.array([frame.time for frame in video.frames])
        table = None if item.segments is None else labels_of_frames(item.segments, times)
        if table is not None and not table:
            reason = (
                "no segment of the table is in the video" if item.segments else "the table has no row for it"
            )
            return VideoPart(dataclasses.replace(row, status="unlabelled", reason=reason))
        windows = sample_windows(times, table, sampling, item.id)
        frames = _stored_frames(project, item, video, windows, table)
    except VideoError as error:
        return VideoPart(dataclasses.replace(row, status=error.status, reason=error.reason))
    notes = list(video.notes)
    if len(windows) < sampling.anchors:
        notes.append(f"{len(windows)} of {counted(sampling.anchors, 'anchor')} fit at this distance")
    return VideoPart(dataclasses.replace(row, sets=len(windows), notes="; ".join(notes)), tuple(frames))


def _with_facts(row: VideoRow, video: VideoTimes) -> VideoRow:
    times = np.array([frame.time for frame in video.frames])
    intervals = np.diff(times)
    usual = float(np.median(intervals)) if len(intervals) else 0.0
    variable = bool(len(intervals)) and bool(np.abs(intervals - usual).max() > SAME_INTERVAL * usual)
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
    before: tuple[int, NDArray[np.uint8]] | None = None
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

    A neighbour keeps the labels of the table only where they differ from those of the anchor.
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
            own = table.get(index)
            differs = own is not None and own.labels != anchor.labels
            labels[index] = (own, False) if own and (differs or not distance) else (anchor, True)
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
    if any(frame_signals.CUT in pairs[place].flags for place in between):
        flags.append(BEYOND_CUT)
    if table is not None and index not in table:
        flags.append(OUTSIDE_SEGMENT)
    if any(x2 > stored.width or y2 > stored.height for _, _, _, x2, y2 in given.boxes):
        flags.append(BOX_OUTSIDE)
    if frame.estimated:
        flags.append(ESTIMATED_TIME)
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
        difference=pair.difference if pair else None,
        histogram_distance=pair.histogram_distance if pair else None,
        ssim=pair.ssim if pair else None,
        flags=tuple(flags),
        cut_off=window.cut_off,
    )
