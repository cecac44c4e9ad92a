"""A video, a frame set or a frame of a project in words."""

from __future__ import annotations

from pathlib import PurePath

from windtunnel.curate.frame_tables import SETS_TABLE, SetFrame, VideoRow, read_set_frames, read_videos
from windtunnel.curate.project import Project


def frame_lines(project: Project, text: str) -> list[tuple[str, str]]:
    """Labelled lines on a frame set, on one frame of it, or on a video; empty if there is none.

    Args:
        project: the project.
        text: the name of a set, `SET#INDEX` for one frame, or the path, file name or name of a video.
    """
    if not text or not (project.folder / SETS_TABLE).is_file():
        return []
    frames = read_set_frames(project)
    if of_set := [frame for frame in frames if frame.set == text]:
        return _set_lines(of_set)
    if of_frame := [frame for frame in frames if f"{frame.set}#{frame.index}" == text]:
        return [("set", of_frame[0].set), *_frame_lines(of_frame[0])]
    videos = [row for row in read_videos(project) if text in (row.path, PurePath(row.path).name, row.name)]
    return [line for row in videos for line in _video_lines(row)]


def _set_lines(frames: list[SetFrame]) -> list[tuple[str, str]]:
    anchor = next(frame for frame in frames if not frame.offset)
    lines = [("set", anchor.set), *_frame_lines(anchor)]
    return [*lines, *(("frame", _frame_text(frame)) for frame in frames)]


def _frame_lines(frame: SetFrame) -> list[tuple[str, str]]:
    lines = [
        ("frame", _frame_text(frame)),
        ("image", f"{frame.file}   {frame.width}x{frame.height} pixels"),
        ("label", "   ".join((", ".join(frame.labels) or "none", frame.label_status))),
    ]
    return [*lines, ("cut off", f"by the {frame.cut_off} of the video")] if frame.cut_off else lines


def _frame_text(frame: SetFrame) -> str:
    place = (
        f"{frame.index}   {frame.offset:+d} from the anchor" if frame.offset else f"{frame.index}   anchor"
    )
    flags = ", ".join(flag.replace("_", " ") for flag in frame.flags)
    return "   ".join(filter(None, (place, f"{frame.time:.3f} s", flags)))


def _video_lines(row: VideoRow) -> list[tuple[str, str]]:
    return [
        ("video", f"{row.name}   {row.path}"),
        ("status", f"{row.status}: {row.reason}" if row.reason else row.status),
        ("sets", f"{row.sets:,}"),
        *([("note", row.notes)] if row.notes else []),
    ]
