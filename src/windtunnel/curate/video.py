"""Frame sets from videos: an anchor frame and the frames around it, stored without loss."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.core.conditions import digest
from windtunnel.core.curation_records import VideoRecipe, VideoSummary
from windtunnel.core.errors import UserError
from windtunnel.core.extras import installed_version
from windtunnel.core.file_digests import file_digest
from windtunnel.core.interruption import finishing_items
from windtunnel.core.progress import Progress, silent
from windtunnel.core.wording import counted
from windtunnel.curate.anchor_sampling import Sampling
from windtunnel.curate.frame_tables import VideoPart, VideoRow, read_parts, stored_recipe, write_tables
from windtunnel.curate.project import Project, counts
from windtunnel.curate.steps import StepKind
from windtunnel.curate.video_frames import VideoItem, frame_sets_of
from windtunnel.curate.video_labels import LabelTable, Origin
from windtunnel.engine.executors import Workers
from windtunnel.engine.jobs import Advance, ItemFunction, Needs

VIDEO = StepKind("video", VideoRecipe, VideoSummary)
# Increased when the same options give other frames, signals or flags.
VERSION = 2
# Files that are read from a folder of videos.
SUFFIXES = (
    *(".3gp", ".asf", ".avi", ".flv", ".gif", ".h264", ".ivf", ".m2ts", ".m4v", ".mj2", ".mkv", ".mov"),
    *(".mp4", ".mpeg", ".mpg", ".mts", ".mxf", ".nut", ".ogv", ".ts", ".webm", ".wmv"),
)


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
            advance(1, int(not part.video.sets))
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
    origin: Origin = Origin(),  # noqa: B008 (frozen)
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
        origin: licence and source of videos for which the table names none.
        workers: how many, and where.
        progress: counts videos; those that cannot be used count as failed.
    """
    workers.check(portable=True, live="")
    with project.created():
        items = _items(videos, sampling, labels, origin)
        project.mark_started(VIDEO.name)
        missing = [item for item in items if stored_recipe(project, item.name) != item.recipe]
        progress(len(items) - len(missing), len(items))
        if missing:
            job = VideoJob(project.folder, sampling, tuple(item.path.absolute() for item in missing))

            def advance(done: int, failed: int) -> None:
                progress(done, len(items), failed)

            executor = workers.executor_for(len(missing))
            done = len(items) - len(missing)
            try:
                with finishing_items():
                    for _ in executor.work(job, missing, workers.count, advance, workers.address):
                        done += 1
            except BaseException as error:
                error.add_note(
                    f"{done:,} of {counted(len(items), 'video')} are in {project.folder}; the others will be "
                    "decoded again."
                )
                raise
        parts = read_parts(project)
        for item in items:
            part, recipe = parts[item.name]
            facts = dataclasses.asdict(item.origin)
            if any(getattr(part.video, name) != value for name, value in facts.items()):
                part = VideoPart(dataclasses.replace(part.video, **facts), part.frames)
                part.write(project, item.name, recipe)
                parts[item.name] = part, recipe
        write_tables(project, [part for part, _ in parts.values()])
        result = _result(project, [part for part, _ in parts.values()], len(items) - len(missing))
        statuses = counts(video.status for video in result.videos)
        project.finish(
            VIDEO,
            VideoRecipe({name: recipe for name, (_, recipe) in parts.items()}),
            VideoSummary(statuses, result.sets, result.frames, result.cut_off, dict(result.flags)),
        )
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


def _items(
    videos: Sequence[Path], sampling: Sampling, labels: LabelTable | None, origin: Origin
) -> list[VideoItem]:
    """The work: of videos with the same content the first labelled one is used, else the first one."""
    items: list[VideoItem] = []
    ids = {path: file_digest(path) for path in videos}
    used: dict[str, Path] = {}
    for path in sorted(videos, key=lambda path: labels is None or not labels.of_video(path)):
        used.setdefault(ids[path], path)
    for path, id_ in ids.items():
        same = used[id_]
        segments = None if labels is None else labels.of_video(path)
        recipe = {
            "version": VERSION,
            "av": installed_version("av"),
            "sampling": dataclasses.asdict(sampling),
            "segments": None if segments is None else [dataclasses.asdict(segment) for segment in segments],
            "duplicate": same != path,
        }
        name = id_ if same == path else f"{id_}-{digest({'path': path.as_posix()})}"
        other = "" if same == path else same.as_posix()
        stated = Origin() if labels is None else labels.origin_of(path)
        own = Origin(stated.licence or origin.licence, stated.source or origin.source)
        items.append(VideoItem(name, id_, path, segments, digest(recipe), own, other))
    return items
