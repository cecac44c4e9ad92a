"""Frame sets from videos, and their export."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.core.extras import load_extra
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.wording import seconds_in
from windtunnel.curate.anchor_sampling import Sampling
from windtunnel.curate.frame_set_export import FrameSetExport
from windtunnel.curate.frame_set_export import export_frame_sets as _export
from windtunnel.curate.project import Project, open_project
from windtunnel.curate.video import FrameSets, find_videos
from windtunnel.curate.video import make_frame_sets as _make
from windtunnel.curate.video_labels import LabelTable, Origin, read_label_table
from windtunnel.engine.executors import Workers, checked_executor, python_workers, usable_workers
from windtunnel.options import ExportOptions, VideoOptions
from windtunnel.options.video import FRAMES
from windtunnel.report.frame_datasheet import render_frame_datasheet


def make_frame_sets(
    project: str | Path,
    videos: str | Path | Sequence[str | Path],
    options: VideoOptions = VideoOptions(),  # noqa: B008 (frozen)
    *,
    progress: Progress = silent,
    **changes: Any,
) -> FrameSets:
    """Draw anchor frames from videos and store them with the frames around them in a curation project.

    Args:
        project: the project's folder; it is created if there is none.
        videos: video files, and folders of videos.
        options: labels, anchors, frames and other options; see `windtunnel.options.VideoOptions`.
        progress: counts videos; those that cannot be used count as failed.
        changes: single options by name, such as `anchors=3`; they override `options`.

    Returns:
        A row for every video, and counts of sets, frames and flags.
    """
    prepared = prepare_frame_sets(
        project, [videos] if isinstance(videos, str | Path) else videos, options.with_changes(changes)
    )
    return prepared.make(prepared.default_workers, progress)


@dataclass(frozen=True)
class PreparedFrameSets:
    """Checked inputs of frame sets: the project, its videos, their labels, and how anchors are drawn."""

    project: Project
    videos: tuple[Path, ...]
    sampling: Sampling
    labels: LabelTable | None
    options: VideoOptions

    @property
    def workers(self) -> int:
        """The number of workers: as requested, or one per processor core; at most one per video."""
        return usable_workers(len(self.videos), self.options, portable=True)

    @property
    def default_workers(self) -> int:
        """The number of workers in Python: as requested, else one, or all of a named executor."""
        return python_workers(len(self.videos), self.options, portable=True)

    def make(self, workers: int, progress: Progress = silent) -> FrameSets:
        """Decode the videos that are not done yet, and write the tables of the project."""
        return _make(
            self.project,
            self.videos,
            self.sampling,
            self.labels,
            Origin(self.options.licence, self.options.source),
            workers=Workers(workers, self.options.executor, self.options.address),
            progress=progress,
        )


def prepare_frame_sets(
    project: str | Path, videos: Sequence[str | Path], options: VideoOptions
) -> PreparedFrameSets:
    """Check the inputs of frame sets; the method `make` of the result makes them."""
    sampling = _sampling(options)
    files = find_videos(videos)
    labels = None if options.labels is None else read_label_table(Path(options.labels))
    if labels is not None:
        labels.check_names(files)
    checked_executor(options.executor, options.address)
    folder = Project(Path(project))
    folder.check_free()
    load_extra("av", "Video")
    return PreparedFrameSets(folder, tuple(files), sampling, labels, options)


def export_frame_sets(
    project: str | Path,
    out: str | Path,
    options: ExportOptions = ExportOptions(),  # noqa: B008 (frozen)
    *,
    progress: Progress = silent,
    **changes: Any,
) -> FrameSetExport:
    """Write the frame sets of a project in the layout of ImageNet-Vid-Robust, which `run` accepts.

    Args:
        project: a project with frame sets.
        out: the folder of the set; an existing one of the same recipe is completed.
        options: facts of the set; see `windtunnel.options.ExportOptions`. Its table `reviewed` has the
            columns set, frame and verdict (`accept`, `reject` or `unsure`): only accepted frames are
            exported. Without it all candidates are.
        progress: counts frames.
        changes: single options by name, such as `reviewed="verdicts.csv"`; they override `options`.
    """
    opened = open_project(project)
    return _export(opened, Path(out), options.with_changes(changes), render_frame_datasheet, progress)


def _sampling(options: VideoOptions) -> Sampling:
    if options.frames is not None and options.seconds is not None:
        raise UserError(f"{option('frames')} and {option('seconds')} exclude each other; give one.")
    for name in ("anchors", "frames"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise UserError(f"{option(name)} is {value}; give at least 1.")
    seconds = 0.0 if options.seconds is None else _seconds("seconds", options.seconds)
    if options.seconds is not None and not seconds:
        raise UserError(f"{option('seconds')} is {options.seconds}; give more than 0.")
    frames = 0 if seconds else options.frames or FRAMES
    return Sampling(options.anchors, _seconds("gap", options.gap), frames, seconds, options.seed)


def _seconds(name: str, text: str) -> float:
    """A length of time such as 0.5, 0.5s or 2m, in seconds."""
    try:
        value = float(text)
    except ValueError:
        value = seconds_in(str(text)) or math.nan
    if not 0 <= value < math.inf:
        raise UserError(f"{option(name)} is {text}; give a length of time such as 0.5s or 2s.")
    return value
