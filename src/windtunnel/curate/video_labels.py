"""Labels of videos from a table: a video, a segment of it, a label, and optionally a box and a licence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.core.wording import listed
from windtunnel.data.table import SUFFIXES, label_names, table_columns, table_rows

BOX_COLUMNS = ("x1", "y1", "x2", "y2")
ORIGIN_COLUMNS = {"licence": ("licence", "license"), "source": ("source",)}
# A moment at most this many seconds after the last frame labels that frame.
MOMENT_AFTER_END = 1.0
_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{1,2}(?:\.\d+)?)")

# A box in pixels of the upright frame: label, left, top, right, bottom.
Box = tuple[str, float, float, float, float]


@dataclass(frozen=True)
class Segment:
    """One row of the table.

    Attributes:
        start: seconds since the start of the video; None for its beginning.
        end: the end, which is not part of the segment; None for the end of the video, or equal to `start` for
            a label of the single frame nearest to it.
        labels: the classes in the segment.
        box: the place of the object; None if it is not given.
    """

    start: float | None
    end: float | None
    labels: tuple[str, ...]
    box: Box | None = None


@dataclass(frozen=True)
class FrameLabels:
    """The labels and boxes of one frame."""

    labels: tuple[str, ...] = ()
    boxes: tuple[Box, ...] = ()


@dataclass(frozen=True)
class Origin:
    """Where a video comes from and its licence, as given; "" if not stated."""

    licence: str = ""
    source: str = ""


@dataclass(frozen=True)
class LabelTable:
    """The segments and the origin of all videos, by the name that the table gives a video.

    Attributes:
        location: the file.
        segments: by name of a video.
        origins: by name of a video.
    """

    location: str
    segments: Mapping[str, tuple[Segment, ...]] = field(default_factory=dict)
    origins: Mapping[str, Origin] = field(default_factory=dict)

    def of_video(self, path: Path) -> tuple[Segment, ...]:
        """The segments of a video."""
        return self.segments.get(self._name(path), ())

    def origin_of(self, path: Path) -> Origin:
        """The origin of a video."""
        return self.origins.get(self._name(path), Origin())

    def _name(self, path: Path) -> str:
        """The name of a video in the table: its path, its file name, or that without suffix; "" for none."""
        names = (str(path), path.as_posix(), path.name, path.stem)
        return next((name for name in names if name in self.segments), "")

    def check_names(self, videos: Sequence[Path]) -> None:
        """Refuse a table that names none of the videos, and a name that two videos have."""
        if not any(self.of_video(path) for path in videos):
            raise UserError(
                f"{self.location} labels {listed(sorted(self.segments), 3)}, but none of the given videos "
                f"({listed([path.name for path in videos], 3)}); write file names in its column video."
            )
        for name in self.segments:
            sharing = [path for path in videos if name == path.name or name == path.stem]
            if len(sharing) > 1 and not any(name == path.name for path in sharing):
                raise UserError(
                    f"{self.location}: '{name}' may be {sharing[0]} or {sharing[1]}; write the file name "
                    "with its suffix, or the path."
                )


def read_label_table(file: Path) -> LabelTable:
    """Read a table with the columns video and label, and optionally others.

    These are start, end, x1, y1, x2, y2, licence and source.
    """
    if file.suffix.lower() not in SUFFIXES:
        raise UserError(f"{file} is not a table; give a file that ends in {', '.join(SUFFIXES)}.")
    if not file.is_file():
        raise UserError(f"No such table: {file}. Give a file with the columns video, start, end and label.")
    rows = table_rows(file)
    columns = {name for row in rows for name in row} if rows else table_columns(file)
    missing = [name for name in ("video", "label") if name not in columns]
    if missing:
        has = f"the columns {', '.join(sorted(map(str, columns)))}" if columns else "no content"
        raise UserError(f"{file} has {has}; it needs the columns video and label ({missing[0]} is missing).")
    if not rows:
        raise UserError(f"{file} has a header and no rows; write a row for each labelled segment of a video.")
    segments: dict[str, list[Segment]] = {}
    origins: dict[str, dict[str, str]] = {}
    for number, row in enumerate(rows, 1):
        name, where = str(row.get("video") or "").strip(), f"{file}: row {number}"
        if not name:
            raise UserError(f"{where} has no video; write the video's file name.")
        segments.setdefault(name, []).append(_segment(row, where))
        _add_origin(origins.setdefault(name, {}), row, name, where)
    return LabelTable(
        str(file),
        {name: tuple(rows) for name, rows in segments.items()},
        {name: Origin(**origin) for name, origin in origins.items()},
    )


def _add_origin(origin: dict[str, str], row: Mapping[str, Any], video: str, where: str) -> None:
    """Add the licence and the source of a row; refuses a video that has two."""
    for key, spellings in ORIGIN_COLUMNS.items():
        cell = next((str(row[spelling]).strip() for spelling in spellings if row.get(spelling)), "")
        if cell and origin.setdefault(key, cell) != cell:
            raise UserError(
                f"{where} gives {video} the {key} '{cell}', another row '{origin[key]}'; give one for each "
                "video."
            )


def _segment(row: Mapping[str, Any], where: str) -> Segment:
    labels = tuple(label_names(row.get("label")))
    if not labels:
        raise UserError(f"{where} has no label; write a class name.")
    start = _seconds(row.get("start"), f"{where} has the start")
    end = _seconds(row.get("end"), f"{where} has the end")
    if start is not None and end is None:
        end = start
    if end is not None and end < (start or 0):
        raise UserError(f"{where} ends at {end:g} s, before its start; give an end after {start or 0:g} s.")
    return Segment(start, end, labels, _box(row, labels, where))


def _seconds(cell: object, where: str) -> float | None:
    """The seconds in a cell: a number, or hours, minutes and seconds with colons; None if it is empty."""
    text = str(cell if cell is not None else "").strip()
    if not text:
        return None
    if clock := _CLOCK.fullmatch(text):
        return int(clock[1] or 0) * 3600 + int(clock[2]) * 60 + float(clock[3])
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise UserError(f"{where} '{text}'; give seconds, such as 12.5, or 1:02:03.5.")
    return value


def _box(row: Mapping[str, Any], labels: tuple[str, ...], where: str) -> Box | None:
    cells = [str(row.get(name) or "").strip() for name in BOX_COLUMNS]
    if not any(cells):
        return None
    try:
        x1, y1, x2, y2 = map(float, cells)
    except ValueError:
        x1 = y1 = x2 = y2 = math.nan
    if not (0 <= x1 < x2 < math.inf and 0 <= y1 < y2 < math.inf):
        given = ", ".join(
            f"{name}={cell or 'nothing'}" for name, cell in zip(BOX_COLUMNS, cells, strict=True)
        )
        raise UserError(f"{where} has the box {given}; give all four in pixels, with x1 < x2 and y1 < y2.")
    if len(labels) > 1:
        raise UserError(f"{where} has a box and {len(labels)} labels; write one row for each label.")
    return labels[0], x1, y1, x2, y2


def labels_of_frames(
    segments: Iterable[Segment], times: NDArray[np.float64], *, truncated: bool = False
) -> dict[int, FrameLabels]:
    """The labels of every labelled frame, by its index.

    Args:
        segments: the video's rows of the table.
        times: the frames' times in seconds.
        truncated: whether frames are missing after the last one: a moment after it labels none of these.
    """
    labels: dict[int, set[str]] = {}
    boxes: dict[int, set[Box]] = {}
    for segment in segments:
        for index in _frames_in(segment, times, 0.0 if truncated else MOMENT_AFTER_END):
            labels.setdefault(index, set()).update(segment.labels)
            if segment.box:
                boxes.setdefault(index, set()).add(segment.box)
    return {
        index: FrameLabels(tuple(sorted(names)), tuple(sorted(boxes.get(index, ()))))
        for index, names in labels.items()
    }


def _frames_in(segment: Segment, times: NDArray[np.float64], after_end: float) -> range:
    if segment.start is not None and segment.start == segment.end:
        if segment.start > times[-1] + after_end:
            return range(0)
        nearest = nearest_frame(times, np.array([segment.start]))[0]
        return range(int(nearest), int(nearest) + 1)
    first = 0 if segment.start is None else int(np.searchsorted(times, segment.start, "left"))
    last = len(times) if segment.end is None else int(np.searchsorted(times, segment.end, "left"))
    return range(first, last)


def nearest_frame(times: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.int64]:
    """The index of the frame that is shown nearest to each time; the earlier one of two equally near."""
    after = np.clip(np.searchsorted(times, wanted, "left"), 1, max(len(times) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(times) - 1)
    return np.where(wanted - times[before] <= times[after] - wanted, before, after).astype(np.int64)
