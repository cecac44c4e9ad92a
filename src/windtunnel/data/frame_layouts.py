"""Frames of videos on disk: published JSON files, and tables of a user's own frames."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.core.labels import LabelSpace, index_space
from windtunnel.core.samples import FrameRow, Sample
from windtunnel.data import Dataset, is_image_name, nfc, read_file
from windtunnel.data.frame_json import JSON_FOLDERS, JSON_PLACES, find_json, read_json
from windtunnel.data.frame_sets import ANCHOR, NEIGHBOUR, SET_COLUMNS, VIDEO, set_column
from windtunnel.data.label_spaces import label_space_of
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

# Where a set keeps its frames, from its root.
FRAME_FOLDERS = ("", "images", "frames", "val", "ytbb_videos")
SETS, LABELS = "pmsets.json", "labels.json"
# The suites of YTBB-Robust's annotation files: accepted frames, and all candidates.
REVIEWED, UNREVIEWED = "ytbb-robust", "ytbb-robust-unreviewed"
NAMES_OF_SETS = (*SET_COLUMNS, "group")
# Why a frame is not scored.
OTHER_FRAMES = "frames of no scored frame set"
# So much of a wrong value is shown.
SHOWN = 60


@dataclass(frozen=True)
class FrameFiles(Dataset):
    """Frames below a folder, by their keys.

    Attributes:
        name, location, label_space: as of any data set.
        scored: the frames of some set.
        root: the folder.
        inside: the folder below it that keys start from.
        others: ids of annotated frames that are in no set.
    """

    name: str
    location: str
    label_space: LabelSpace
    scored: tuple[Sample, ...]
    root: str
    inside: str = ""
    others: frozenset[str] = frozenset()

    portable = True
    parallel_reads = True

    def samples(self) -> Sequence[Sample]:
        """Every frame of some set, sorted by id."""
        return self.scored

    def read(self, sample: Sample) -> bytes:
        """The file's bytes."""
        return read_file(Path(self.root) / sample.meta["path"])

    def reason_left_out(self) -> Callable[[str], str]:
        """A function from the id of a frame that is not scored to the reason; "" for unknown frames."""
        return lambda id_: OTHER_FRAMES if self.holds(id_) else ""

    def holds(self, sample_id: str) -> bool:
        """Whether a frame is annotated or lies among the others, in a set or not."""
        if sample_id in self.others:
            return True
        inside = is_image_name(sample_id) and ".." not in Path(sample_id).parts
        return inside and (Path(self.root) / self.inside / sample_id).is_file()


def frame_images(natural: NaturalSet, source: str | Path | Dataset) -> Images:
    """The frames of a video set, and which of them belong to which anchor."""
    if isinstance(source, TableDataset):
        return _of_table(natural, source)
    if not isinstance(source, str | Path):
        raise UserError(f"{natural.title} is read from a folder or a table; give its path.")
    path = Path(source)
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


def holds_frame_sets(path: Path) -> bool:
    """Whether a folder has the JSON files of a video set."""
    found = find_json(path, SETS) and find_json(path, LABELS)
    return bool(found or find_json(path, ANCHOR_LABELS))


def lists_frame_sets(path: Path) -> bool:
    """Whether a table has the columns of frame sets."""
    if path.suffix.lower() not in SUFFIXES:
        return False
    return bool(set_column(table_columns(path)))


def _of_sets(natural: NaturalSet, root: Path) -> Images:
    """`pmsets.json` (anchor to neighbours) and `labels.json` (frame to classes)."""
    sets: dict[str, list[str]] = read_json(root, SETS, dict)
    _check_neighbours(root, sets)
    given = {frame: _listed(root, frame, row) for frame, row in read_json(root, LABELS, dict).items()}
    for anchor in sets:
        if not given.get(anchor):
            raise UserError(f"{root}: {LABELS} has no label of the anchor {anchor} of {SETS}; add one.")
    if natural.layout == "ytbb":
        given = {anchor: given[anchor] for anchor in sets}
    space, names = _space(natural, root, given)
    labels = {frame: tuple(names[one] for one in map(str, row)) for frame, row in given.items()}
    if natural.layout == "ytbb":
        labels = _by_anchor(root, sets, labels)
    unlabelled = next((one for near in sets.values() for one in near if not labels.get(one)), "")
    if unlabelled:
        raise UserError(
            f"{root}: {LABELS} has no label of the frame {unlabelled} of {SETS}; add one, or take the frame "
            "out of its set."
        )
    return _assembled(natural, root, sets, labels, space)


def _check_neighbours(root: Path, sets: Mapping[str, Any]) -> None:
    """Every anchor has a list of frames, which may be empty."""
    for anchor, near in sets.items():
        if not isinstance(near, list) or not all(isinstance(one, str) for one in near):
            raise UserError(
                f"{root}: {SETS} has {_shown(near)} for the anchor {anchor}; give the list of its frames' "
                "names, [] for none."
            )


def _listed(root: Path, frame: str, given: Any) -> list[int | str]:
    """A frame's labels, of which one may stand without a list."""
    labels = given if isinstance(given, list) else [given]
    if any(isinstance(one, bool) or not isinstance(one, int | str) for one in labels):
        raise UserError(
            f"{root}: {LABELS} has {_shown(given)} for the frame {frame}; give a list of class indices or "
            "names."
        )
    return labels


def _shown(value: Any) -> str:
    """A JSON value in a message, cut where it is long."""
    return textwrap.shorten(json.dumps(value), SHOWN)


def _of_annotations(natural: NaturalSet, root: Path) -> Images:
    """YTBB-Robust's annotation files: what reviewers accepted, or all candidates whatever they said."""
    notes = read_annotations(root, natural.classes)
    inside = _frame_folder(root, sorted(notes.labels))
    accepted = notes.reviewed
    sets = accepted
    if natural.frames == "candidates":
        sets = notes.candidates(lambda key: (root / inside / key).is_file())
    if not sets:
        raise UserError(
            f"{root}: {ANCHOR_LABELS} and {PAIR_LABELS} leave no anchor that is good and in {RAW_ANCHORS}."
        )
    found = _assembled(
        natural, root, sets, _by_anchor(root, sets, notes.labels), _class_space(natural), notes.frames
    )
    remarks = [_review_remark(natural, notes, sets, accepted)]
    if notes.unlisted:
        remarks.append(
            f"{len(notes.unlisted):,} good anchors ('{notes.unlisted[0]}' ...) are left out with their "
            f"frames: {RAW_ANCHORS} has no label of theirs."
        )
    return replace(found, remarks=tuple(remarks))


def _review_remark(
    natural: NaturalSet,
    notes: Annotations,
    sets: Mapping[str, Sequence[str]],
    accepted: Mapping[str, Sequence[str]],
) -> str:
    """Whether the frames are those that reviewers accepted or all candidates, with their numbers."""
    anchors = f"{len(accepted):,} of {len(notes.labels):,} anchors"
    count = sum(map(len, accepted.values()))
    if natural.frames == "candidates":
        total = sum(map(len, sets.values()))
        return (
            f"Without review: all {len(sets):,} annotated anchors and their {total:,} candidate frames are "
            f"scored. Reviewers accepted {anchors} and {count:,} frames; suite {REVIEWED} scores those."
        )
    total = sum(map(len, notes.pairs.values()))
    return (
        f"With review: reviewers accepted {anchors} and {count:,} of {total:,} annotated frames, which are "
        f"scored; suite {UNREVIEWED} scores all candidates."
    )


def _by_anchor(
    root: Path, sets: Mapping[str, Sequence[str]], labels: Mapping[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    """Every frame with its anchor's labels; a frame of two anchors must have the same from both."""
    found: dict[str, tuple[int, ...]] = {}
    for anchor, near in sets.items():
        for frame in (anchor, *near):
            if set(found.setdefault(frame, labels[anchor])) != set(labels[anchor]):
                raise UserError(
                    f"{root}: {frame} is a frame of two anchors with other labels, {anchor} the second; a "
                    "frame has one list of them. Take it out of one set."
                )
    return found


def _of_table(natural: NaturalSet, table: TableDataset) -> Images:
    """A table of frames: a file, the set (or its anchor), how far from the anchor, and labels."""
    samples: dict[str, Sample] = {}
    rows: list[tuple[str, str, int]] = []
    columns = {name for one in table.samples() for name in one.meta}
    for needed in (NAMES_OF_SETS, ("offset",)):
        if columns.isdisjoint(needed):
            raise UserError(
                f"{table.location} has no column {' or '.join(needed)}; it has "
                f"{', '.join(sorted(columns - {'path'})) or 'no other'} beside file and label."
            )
    if table.remarks:
        raise UserError(f"{table.remarks[0]} Frames need labels; add a column label.")
    for one in table.samples():
        set_ = next((one.meta[name] for name in NAMES_OF_SETS if one.meta.get(name)), "")
        offset = one.meta.get("offset", "")
        if not set_ or not re.fullmatch(r"[+-]?\d+", offset):
            raise UserError(
                f"{table.location}: {one.id} has set '{set_}' and offset '{offset}'; every frame needs the "
                "name of its set (or its anchor's file) and a whole number of frames from the anchor."
            )
        path = one.meta["path"]
        video = one.meta.get("video") or set_
        found = samples.setdefault(nfc(path), Sample(nfc(path), one.labels, {"path": path, "video": video}))
        if found.labels != one.labels:
            raise UserError(
                f"{table.location}: {path} has other labels in another row; a frame has one list of them."
            )
        rows.append((set_, found.id, int(offset)))
    frames = tuple(
        FrameRow(set_, id_, offset, NEIGHBOUR if offset else ANCHOR) for set_, id_, offset in sorted(rows)
    )
    _check_sets(frames, table.location)
    return Images(
        natural.part,
        natural.role,
        table,
        sorted(samples.values(), key=lambda one: one.id),
        table.label_space,
        frames,
    )


def _check_sets(frames: Iterable[FrameRow], where: str) -> None:
    """Every set has one anchor, which is no other set's, and one frame at an offset."""
    offsets: dict[str, list[int]] = {}
    anchored: dict[str, str] = {}
    for one in frames:
        offsets.setdefault(one.group, []).append(one.offset)
        if one.role == ANCHOR and anchored.setdefault(one.sample_id, one.group) != one.group:
            raise UserError(
                f"{where}: sets '{anchored[one.sample_id]}' and '{one.group}' have one anchor, "
                f"{one.sample_id}; pm-k counts an anchor once, so make them one set."
            )
    for group, found in offsets.items():
        if found.count(0) != 1:
            raise UserError(
                f"{where}: set '{group}' has {found.count(0)} frames with offset 0; it needs one, its anchor."
            )
        if len(set(found)) < len(found):
            raise UserError(f"{where}: set '{group}' has two frames at one offset.")


def _assembled(
    natural: NaturalSet,
    root: Path,
    sets: Mapping[str, Sequence[str]],
    labels: Mapping[str, tuple[int, ...]],
    space: LabelSpace,
    annotated: Iterable[str] = (),
) -> Images:
    """Samples and frame rows of sets that name their frames by keys; more frames may be annotated."""
    frames: list[FrameRow] = []
    for anchor in sorted(sets):
        frames.append(FrameRow(nfc(anchor), nfc(anchor), 0, ANCHOR))
        frames += [
            FrameRow(nfc(anchor), nfc(one), frame_number(one) - frame_number(anchor), NEIGHBOUR)
            for one in sorted(sets[anchor], key=frame_number)
        ]
    _check_sets(frames, str(root))
    keys = sorted({key for anchor, near in sets.items() for key in (anchor, *near)})
    inside = _frame_folder(root, keys)
    samples = tuple(
        Sample(nfc(key), labels[key], {"path": (Path(inside) / key).as_posix(), VIDEO: _video(natural, key)})
        for key in keys
    )
    others = frozenset(map(nfc, annotated)) - {one.id for one in samples}
    files = FrameFiles(root.resolve().name, str(root), space, samples, str(root), inside, others)
    return Images(natural.part, natural.role, files, samples, space, tuple(frames))


def _frame_folder(root: Path, keys: Sequence[str]) -> str:
    """The folder of a set in which its frames lie, by the first of them."""
    return next((one for one in FRAME_FOLDERS if keys and (root / one / keys[0]).exists()), "")


def _video(natural: NaturalSet, key: str) -> str:
    """The video of a frame: its folder, or of YTBB-Robust the YouTube id, which several folders share."""
    folder = key.rpartition("/")[0]
    return youtube_id(folder) if natural.layout == "ytbb" else folder


def frame_number(key: str) -> int:
    """Which frame of its video a key names: the last number of the file's name."""
    numbers = re.findall(r"\d+", key.rpartition("/")[2].partition(".")[0])
    if not numbers:
        raise UserError(f"The frame '{key}' has no number in its name, by which it is placed in its video.")
    return int(numbers[-1])


def _space(
    natural: NaturalSet, root: Path, given: Mapping[str, Sequence[int | str]]
) -> tuple[LabelSpace, dict[str, int]]:
    """The classes of the frames' labels, and the index of every label as it is written."""
    if natural.classes:
        space = _class_space(natural)
        names = {str(place): place for place in range(len(space))}
        names |= {name: place for place, name in enumerate(space.classes)}
        _check_labels(root, given, names, f"{natural.title} has the classes 0 to {len(space) - 1}")
        return space, names
    labels = [one for row in given.values() for one in row]
    if not all(isinstance(one, int) for one in labels):
        return label_space_of(map(str, labels))
    listed = _class_index(root)
    space = (
        LabelSpace("names", tuple(listed), "the set's class index")
        if listed
        else index_space(max(map(int, labels), default=0) + 1)
    )
    names = {str(place): place for place in range(len(space))}
    most = f" to {len(listed) - 1}, as the class index has them" if listed else " upwards"
    _check_labels(root, given, names, f"classes are 0{most}")
    return space, names


def _check_labels(
    root: Path, given: Mapping[str, Sequence[int | str]], names: Mapping[str, int], allowed: str
) -> None:
    """Refuse a label that names no class, with the frame that has it."""
    for frame, row in given.items():
        wrong = next((one for one in row if str(one) not in names), None)
        if wrong is not None:
            raise UserError(f"{root}: {LABELS} has the label {wrong} for the frame {frame}; {allowed}.")


def _class_space(natural: NaturalSet) -> LabelSpace:
    return LabelSpace(natural.name, natural.classes, f"the classes of {natural.title}")


def _class_index(root: Path) -> list[str]:
    """The names of a set's classes in the order of their indices, where a file says so; else none."""
    for folder in JSON_FOLDERS:
        for file in sorted((root / folder).glob("*class_index.json")):
            content = read_json(root, file.name, dict)
            # Names stand alone, or after a WordNet id.
            named = {
                int(key): value[-1] if isinstance(value, list) else value for key, value in content.items()
            }
            if sorted(named) != list(range(len(named))):
                raise UserError(f"{file} lacks a class between 0 and {max(named)}.")
            return [str(named[place]) for place in range(len(named))]
    return []
