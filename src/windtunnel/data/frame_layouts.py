"""Frames of videos on disk: published JSON files, and tables of a user's own frames."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.core.labels import LabelSpace
from windtunnel.core.locations import Location, location_of
from windtunnel.core.samples import FrameRow, Sample
from windtunnel.data import Dataset, is_image_name, nfc, read_file
from windtunnel.data.frame_json import JSON_PLACES, find_json, read_json
from windtunnel.data.frame_labels import LABELS, class_space, frame_label_space
from windtunnel.data.frame_sets import ANCHOR, NEIGHBOUR, SET_COLUMNS, VIDEO, set_column
from windtunnel.data.natural_sets import Images
from windtunnel.data.table import SUFFIXES, TableDataset, table_columns
from windtunnel.data.ytbb_annotations import (
    ANCHOR_LABELS,
    PAIR_LABELS,
    RAW_ANCHORS,
    Annotations,
    read_annotations,
    youtube_id,
)
from windtunnel.published.natural_sets import NaturalSet

# The folders in which a set may store its frames, relative to its root.
FRAME_FOLDERS = ("", "images", "frames", "val", "ytbb_videos")
SETS = "pmsets.json"
# The suites of YTBB-Robust's annotation files: accepted frames, and all candidates.
REVIEWED, UNREVIEWED = "ytbb-robust", "ytbb-robust-unreviewed"
NAMES_OF_SETS = (*SET_COLUMNS, "group")
# Reason why a frame is not scored; run folders store it.
OTHER_FRAMES = "frames of no scored frame set"
# The longest part of a wrong value that a message shows.
SHOWN = 60


@dataclass(frozen=True)
class FrameFiles(Dataset):
    """Frames in a folder, identified by their keys.

    Attributes:
        name, location, label_space: as in any dataset.
        scored: the frames that belong to a frame set.
        root: the folder.
        inside: the subfolder that keys are relative to.
        others: ids of annotated frames that belong to no frame set.
    """

    name: str
    location: str
    label_space: LabelSpace
    scored: tuple[Sample, ...]
    root: Location
    inside: str = ""
    others: frozenset[str] = frozenset()

    portable = True
    parallel_reads = True

    def samples(self) -> Sequence[Sample]:
        """Every frame of a frame set, sorted by id."""
        return self.scored

    def read(self, sample: Sample) -> bytes:
        """The file's bytes."""
        return read_file(self.root / sample.meta["path"])

    def reason_left_out(self) -> Callable[[str], str]:
        """A function from the id of a frame that is not scored to the reason; "" for unknown frames."""
        return lambda id_: OTHER_FRAMES if self.holds(id_) else ""

    def holds(self, sample_id: str) -> bool:
        """Whether a frame is annotated or exists as a file, in a frame set or not."""
        if sample_id in self.others:
            return True
        inside = is_image_name(sample_id) and ".." not in PurePosixPath(sample_id).parts
        return inside and (self.root / self.inside / sample_id).is_file()


def frame_images(natural: NaturalSet, source: str | Location | Dataset) -> Images:
    """The frames of a video set, with the anchor of each."""
    if isinstance(source, TableDataset):
        return _of_table(natural, source)
    if not isinstance(source, str | Location):
        raise UserError(f"{natural.title} is read from a folder or a table; give its path.")
    path = location_of(source)
    if path.is_file() and natural.layout == "frames":
        return _of_table(natural, TableDataset(path))
    if not path.is_dir():
        raise UserError(f"No such data: {path}. Give the folder with {SETS} and the frames, or a table.")
    if find_json(path, SETS) and natural.frames != "candidates":
        return _of_sets(natural, path)
    if natural.layout == "ytbb":
        return _of_annotations(natural, path)
    raise UserError(
        f"{path} has no {SETS} (in {JSON_PLACES}); give such a folder, or a table with the columns file, "
        "set, offset and label."
    )


def holds_frame_sets(path: Location) -> bool:
    """Whether a folder has the JSON files of a video set."""
    has_sets = find_json(path, SETS) and find_json(path, LABELS)
    return bool(has_sets or find_json(path, ANCHOR_LABELS))


def lists_frame_sets(path: Location) -> bool:
    """Whether a table has the columns of frame sets."""
    if path.suffix.lower() not in SUFFIXES:
        return False
    return bool(set_column(table_columns(path)))


def _of_sets(natural: NaturalSet, root: Location) -> Images:
    """Images of `pmsets.json` (anchor to neighbours) and `labels.json` (frame to classes)."""
    sets: dict[str, list[str]] = read_json(root, SETS, dict)
    _check_neighbours(root, sets)
    given = {frame: _listed(root, frame, row) for frame, row in read_json(root, LABELS, dict).items()}
    for anchor in sets:
        if not given.get(anchor):
            raise UserError(f"{root}: {LABELS} has no label for the anchor {anchor} of {SETS}; add one.")
    if natural.layout == "ytbb":
        given = {anchor: given[anchor] for anchor in sets}
    space, names = frame_label_space(natural, root, given)
    labels = {frame: tuple(names[label] for label in map(str, row)) for frame, row in given.items()}
    if natural.layout == "ytbb":
        labels = _by_anchor(root, sets, labels)
    unlabelled = next((frame for near in sets.values() for frame in near if not labels.get(frame)), "")
    if unlabelled:
        raise UserError(
            f"{root}: {LABELS} has no label for the frame {unlabelled} of {SETS}; add one, or remove the "
            "frame from its set."
        )
    return _assembled(natural, root, sets, labels, space)


def _check_neighbours(root: Location, sets: Mapping[str, Any]) -> None:
    """Refuse an anchor whose frames are not a list; an empty list is allowed."""
    for anchor, near in sets.items():
        if not isinstance(near, list) or not all(isinstance(frame, str) for frame in near):
            raise UserError(
                f"{root}: {SETS} has {_shown(near)} for the anchor {anchor}; give the list of its frames' "
                "names, [] for none."
            )


def _listed(root: Location, frame: str, given: Any) -> list[int | str]:
    """A frame's labels as a list; a single label may be given without a list."""
    labels = given if isinstance(given, list) else [given]
    if any(isinstance(label, bool) or not isinstance(label, int | str) for label in labels):
        raise UserError(
            f"{root}: {LABELS} has {_shown(given)} for the frame {frame}; give a list of class indices or "
            "names."
        )
    return labels


def _shown(value: Any) -> str:
    """A JSON value for a message, shortened if it is long."""
    return textwrap.shorten(json.dumps(value), SHOWN)


def _of_annotations(natural: NaturalSet, root: Location) -> Images:
    """Images of YTBB-Robust's annotation files: what reviewers accepted, or all candidates."""
    annotations = read_annotations(root, natural.classes)
    inside = _frame_folder(root, sorted(annotations.labels))
    accepted = annotations.reviewed
    sets = accepted
    if natural.frames == "candidates":
        sets = annotations.candidates(lambda key: (root / inside / key).is_file())
    if not sets:
        raise UserError(
            f"{root}: {ANCHOR_LABELS} and {PAIR_LABELS} contain no anchor that is good and in {RAW_ANCHORS}; "
            "give the published files."
        )
    images = _assembled(
        natural,
        root,
        sets,
        _by_anchor(root, sets, annotations.labels),
        class_space(natural),
        annotations.frames,
    )
    notes = [_review_note(natural, annotations, sets, accepted)]
    if annotations.unlisted:
        notes.append(
            f"{len(annotations.unlisted):,} good anchors ('{annotations.unlisted[0]}' ...) are left out with "
            f"their frames: {RAW_ANCHORS} has no label for them."
        )
    return replace(images, notes=tuple(notes))


def _review_note(
    natural: NaturalSet,
    annotations: Annotations,
    sets: Mapping[str, Sequence[str]],
    accepted: Mapping[str, Sequence[str]],
) -> str:
    """A note with counts: the frames that reviewers accepted are scored, or all candidates."""
    anchors = f"{len(accepted):,} of {len(annotations.labels):,} anchors"
    count = sum(map(len, accepted.values()))
    if natural.frames == "candidates":
        total = sum(map(len, sets.values()))
        return (
            f"Without review: all {len(sets):,} annotated anchors and their {total:,} candidate frames are "
            f"scored. Reviewers accepted {anchors} and {count:,} frames; suite {REVIEWED} scores those."
        )
    total = sum(map(len, annotations.pairs.values()))
    return (
        f"With review: reviewers accepted {anchors} and {count:,} of {total:,} annotated frames. These are "
        f"scored; suite {UNREVIEWED} scores all candidates."
    )


def _by_anchor(
    root: Location, sets: Mapping[str, Sequence[str]], labels: Mapping[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    """The anchor's labels for every frame; refuses a frame of two anchors with different labels."""
    labels_by_frame: dict[str, tuple[int, ...]] = {}
    for anchor, near in sets.items():
        for frame in (anchor, *near):
            if set(labels_by_frame.setdefault(frame, labels[anchor])) != set(labels[anchor]):
                raise UserError(
                    f"{root}: {frame} belongs to two anchors with different labels, the second is {anchor}; "
                    "remove the frame from one of the sets."
                )
    return labels_by_frame


def _of_table(natural: NaturalSet, table: TableDataset) -> Images:
    """Images of a table of frames: a file, its set (or anchor), its offset from the anchor, and labels."""
    samples: dict[str, Sample] = {}
    rows: list[tuple[str, str, int]] = []
    columns = {name for row in table.samples() for name in row.meta}
    for needed in (NAMES_OF_SETS, ("offset",)):
        if columns.isdisjoint(needed):
            raise UserError(
                f"{table.location} has no column {' or '.join(needed)}; in addition to file and label it has "
                f"{', '.join(sorted(columns - {'path'})) or 'no other'}. Add the column."
            )
    if table.notes:
        raise UserError(f"{table.notes[0]} Frames need labels; add a column label.")
    for row in table.samples():
        set_ = next((row.meta[name] for name in NAMES_OF_SETS if row.meta.get(name)), "")
        offset = row.meta.get("offset", "")
        if not set_ or not re.fullmatch(r"[+-]?\d+", offset):
            raise UserError(
                f"{table.location}: {row.id} has set '{set_}' and offset '{offset}'; every frame needs the "
                "name of its set (or its anchor's file) and a whole number of frames from the anchor."
            )
        path = row.meta["path"]
        video = row.meta.get("video") or set_
        sample = samples.setdefault(nfc(path), Sample(nfc(path), row.labels, {"path": path, "video": video}))
        if sample.labels != row.labels:
            raise UserError(
                f"{table.location}: {path} has different labels in two rows; give the same labels in both."
            )
        rows.append((set_, sample.id, int(offset)))
    frames = tuple(
        FrameRow(set_, id_, offset, NEIGHBOUR if offset else ANCHOR) for set_, id_, offset in sorted(rows)
    )
    _check_sets(frames, table.location)
    return Images(
        natural.part,
        natural.role,
        table,
        sorted(samples.values(), key=lambda sample: sample.id),
        table.label_space,
        frames,
    )


def _check_sets(frames: Iterable[FrameRow], where: str) -> None:
    """Refuse sets that share an anchor, have no or two anchors, or have two frames at the same offset."""
    offsets: dict[str, list[int]] = {}
    anchored: dict[str, str] = {}
    for frame in frames:
        offsets.setdefault(frame.group, []).append(frame.offset)
        if frame.role == ANCHOR and anchored.setdefault(frame.sample_id, frame.group) != frame.group:
            raise UserError(
                f"{where}: sets '{anchored[frame.sample_id]}' and '{frame.group}' have the same anchor, "
                f"{frame.sample_id}; pm-k counts an anchor once, so merge the sets."
            )
    for group, frame_offsets in offsets.items():
        if frame_offsets.count(0) != 1:
            raise UserError(
                f"{where}: set '{group}' has {frame_offsets.count(0)} frames with offset 0; "
                "give exactly one, its anchor."
            )
        if len(set(frame_offsets)) < len(frame_offsets):
            raise UserError(f"{where}: set '{group}' has two frames at the same offset; remove one.")


def _assembled(
    natural: NaturalSet,
    root: Location,
    sets: Mapping[str, Sequence[str]],
    labels: Mapping[str, tuple[int, ...]],
    space: LabelSpace,
    annotated: Iterable[str] = (),
) -> Images:
    """Samples and frame rows of sets whose frames are given by keys; `annotated` may name more frames."""
    frames: list[FrameRow] = []
    for anchor in sorted(sets):
        frames.append(FrameRow(nfc(anchor), nfc(anchor), 0, ANCHOR))
        frames += [
            FrameRow(nfc(anchor), nfc(frame), frame_number(frame) - frame_number(anchor), NEIGHBOUR)
            for frame in sorted(sets[anchor], key=frame_number)
        ]
    _check_sets(frames, str(root))
    keys = sorted({key for anchor, near in sets.items() for key in (anchor, *near)})
    inside = _frame_folder(root, keys)
    samples = tuple(
        Sample(
            nfc(key),
            labels[key],
            {"path": (PurePosixPath(inside) / key).as_posix(), VIDEO: _video(natural, key)},
        )
        for key in keys
    )
    others = frozenset(map(nfc, annotated)) - {sample.id for sample in samples}
    files = FrameFiles(root.resolve().name, str(root), space, samples, root, inside, others)
    return Images(natural.part, natural.role, files, samples, space, tuple(frames))


def _frame_folder(root: Location, keys: Sequence[str]) -> str:
    """The subfolder of a set that contains its first frame."""
    return next((folder for folder in FRAME_FOLDERS if keys and (root / folder / keys[0]).exists()), "")


def _video(natural: NaturalSet, key: str) -> str:
    """The video of a frame: its folder, or for YTBB-Robust the YouTube id, which several folders share."""
    folder = key.rpartition("/")[0]
    return youtube_id(folder) if natural.layout == "ytbb" else folder


def frame_number(key: str) -> int:
    """The number of a frame in its video: the last number in the file name."""
    numbers = re.findall(r"\d+", key.rpartition("/")[2].partition(".")[0])
    if not numbers:
        raise UserError(
            f"The frame '{key}' has no number in its file name; name it by its place in the video."
        )
    return int(numbers[-1])
