"""The tables of frame sets in a project: a row for each frame of a set, and a row for each video."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windtunnel.core.candidates import LabelStatus
from windtunnel.core.errors import UserError
from windtunnel.curate.project import Project, read_table

FRAMES_FOLDER = "frames"
PARTS_FOLDER = f"{FRAMES_FOLDER}/videos"
IMAGES_FOLDER = f"{FRAMES_FOLDER}/images"
SETS_TABLE = f"{FRAMES_FOLDER}/sets.parquet"
VIDEOS_TABLE = f"{FRAMES_FOLDER}/videos.parquet"
# Keys of a part's schema: its video, and the digest of what it was made from.
VIDEO_KEY, RECIPE_KEY = b"windtunnel.video", b"windtunnel.recipe"
# Flags of frames; those of pairs are in `frame_signals.py`.
BEYOND_CUT = "beyond_cut"
OUTSIDE_SEGMENT = "outside_segment"
BOX_OUTSIDE = "box_outside"
ESTIMATED_TIME = "estimated_time"
TRUNCATED_VIDEO = "truncated_video"


@dataclass(frozen=True, kw_only=True)
class SetFrame:
    """One frame of one frame set.

    Attributes:
        set: the name of the set: its video and the index of its anchor.
        video: id of the video.
        video_name: its name in exports.
        index: place among all frames of the video, from 0.
        offset: frames from the anchor; 0 for the anchor itself.
        pts: timestamp in the video's time base; None if there is none.
        time: seconds since the start of the video.
        id: hash of the PNG file's content.
        file: the PNG file relative to the project.
        width, height: size in pixels, after rotation.
        labels: names of the classes; empty if no table was given.
        label_status: `weak` from the table, `propagated` if copied from the anchor.
        boxes: JSON list of label, left, top, right and bottom in pixels, where the table gives boxes.
        difference, histogram_distance, ssim: compared with the adjacent frame nearer to the anchor; None for
            the anchor.
        flags: `duplicate`, `near_duplicate` or `cut` of that pair; `beyond_cut`, `outside_segment`,
            `box_outside`, `estimated_time` and `truncated_video` of the frame.
        cut_off: the end of the video that cuts the set off: `start`, `end` or `both`; "" for a whole set.
    """

    set: str
    video: str
    video_name: str
    index: int
    offset: int
    pts: int | None
    time: float
    id: str
    file: str
    width: int
    height: int
    labels: tuple[str, ...]
    label_status: LabelStatus
    boxes: str
    difference: float | None
    histogram_distance: float | None
    ssim: float | None
    flags: tuple[str, ...]
    cut_off: str


@dataclass(frozen=True, kw_only=True)
class VideoRow:
    """One video of a project.

    Attributes:
        id: hash of the file's content.
        name: its name in exports.
        path: the file as it was given.
        status: `ok`, `unlabelled`, `duplicate`, or the kind of damage; a truncated video may have sets.
        reason: what was found.
        notes: what is unusual in a video that was used.
        licence, source: as given.
        sampling: how its anchors were drawn.
        sets: how many frame sets were made.
        frames: how many frames the video has.
        duration: seconds from the first to the last frame.
        variable_rate: whether the intervals of frames differ by more than 1 % and rounding.
        container ... colour_range: facts of the stream; see `imaging/videos.py`.
    """

    id: str
    name: str
    path: str
    status: str = "ok"
    reason: str = ""
    notes: str = ""
    licence: str = ""
    source: str = ""
    sampling: str = ""
    sets: int = 0
    frames: int = 0
    duration: float = 0.0
    variable_rate: bool = False
    container: str = ""
    codec: str = ""
    pixel_format: str = ""
    stream: int = 0
    video_streams: int = 0
    width: int = 0
    height: int = 0
    rotation: int = 0
    time_base: str = ""
    pixel_aspect: str = ""
    matrix: str = ""
    colour_range: str = ""


_TYPES = {
    "str": pa.string(),
    "int": pa.int64(),
    "int | None": pa.int64(),
    "float": pa.float64(),
    "float | None": pa.float64(),
    "bool": pa.bool_(),
    "LabelStatus": pa.string(),
    "tuple[str, ...]": pa.list_(pa.string()),
}


def _schema(record: type[Any]) -> pa.Schema:
    return pa.schema([(field.name, _TYPES[str(field.type)]) for field in dataclasses.fields(record)])


FRAME_SCHEMA, VIDEO_SCHEMA = _schema(SetFrame), _schema(VideoRow)


def _table(rows: Sequence[Any], schema: pa.Schema) -> pa.Table:
    return pa.table({name: [getattr(row, name) for row in rows] for name in schema.names}, schema)


@dataclass(frozen=True)
class VideoPart:
    """What was made from one video, stored in one file when it is finished."""

    video: VideoRow
    frames: tuple[SetFrame, ...] = ()

    def write(self, project: Project, name: str, recipe: str) -> None:
        """Write the part of a video; `recipe` is the digest of what it was made from."""
        stored = {
            VIDEO_KEY: json.dumps(dataclasses.asdict(self.video)).encode(),
            RECIPE_KEY: recipe.encode(),
        }
        table = _table(self.frames, FRAME_SCHEMA.with_metadata(stored))
        project.write_table(f"{PARTS_FOLDER}/{name}.parquet", table)


def stored_recipe(project: Project, name: str) -> str:
    """The recipe digest of a finished video whose files all exist; "" if there is none."""
    file = project.folder / PARTS_FOLDER / f"{name}.parquet"
    if not file.is_file():
        return ""
    table = read_table(file)
    whole = all((project.folder / path).is_file() for path in table.column("file").to_pylist())
    return (table.schema.metadata or {}).get(RECIPE_KEY, b"").decode() if whole else ""


def read_parts(project: Project) -> dict[str, tuple[VideoPart, str]]:
    """Every finished video with the digest of its recipe, by the part's name."""
    parts = {}
    for file in sorted((project.folder / PARTS_FOLDER).glob("*.parquet")):
        table = read_table(file)
        metadata = table.schema.metadata or {}
        try:
            video = VideoRow(**json.loads(metadata[VIDEO_KEY]))
            recipe = metadata[RECIPE_KEY].decode()
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{file} is damaged ({error!r}); remove it and repeat the step.") from error
        parts[file.stem] = VideoPart(video, _frames(table)), recipe
    return parts


def write_tables(project: Project, parts: Iterable[VideoPart]) -> None:
    """Write the tables of all videos and all frames, ordered by name of the video."""
    ordered = sorted(parts, key=lambda part: (part.video.name, part.video.path))
    project.write_table(VIDEOS_TABLE, _table([part.video for part in ordered], VIDEO_SCHEMA))
    frames = [frame for part in ordered for frame in part.frames]
    project.write_table(SETS_TABLE, _table(frames, FRAME_SCHEMA))


def read_videos(project: Project) -> tuple[VideoRow, ...]:
    """Every video of a project with frame sets, also those that could not be used."""
    return tuple(VideoRow(**row) for row in read_table(project.folder / VIDEOS_TABLE).to_pylist())


def read_set_frames(project: Project) -> tuple[SetFrame, ...]:
    """Every frame of every set of a project; refuses a project without frame sets."""
    file = project.folder / SETS_TABLE
    if not file.is_file():
        raise UserError(
            f"{project.folder} has no frame sets; make them with windtunnel curate video {project.folder} "
            "VIDEO."
        )
    return _frames(read_table(file))


def _frames(table: pa.Table) -> tuple[SetFrame, ...]:
    rows: list[Mapping[str, Any]] = table.to_pylist()
    return tuple(
        SetFrame(**{**row, "labels": tuple(row["labels"]), "flags": tuple(row["flags"])}) for row in rows
    )
