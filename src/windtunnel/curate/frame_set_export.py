"""Frame sets in the layout of ImageNet-Vid-Robust, which `windtunnel run` reads and scores by pm-k.

metadata/pmsets.json      anchor to the list of its frames
metadata/labels.json      frame to the list of its classes
metadata/boxes.json       boxes in COCO's format, if the table of labels gave any
misc/class_index.json     class index to name, unless labels are class indices or WordNet ids
val/<video>/000123.png    frames, numbered by their place in the video
manifest.*, videos.csv    every candidate frame with its verdict, and every video
datasheet.html ...        as of other sets: declaration, recipe, checksums
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from windtunnel.core.conditions import digest
from windtunnel.core.curation_records import FrameExportSummary
from windtunnel.core.errors import UserError
from windtunnel.core.file_digests import named_files_digest
from windtunnel.core.labels import IMAGENET_1K, INDICES
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.records import OwnSet
from windtunnel.core.wording import counted
from windtunnel.curate.export_folder import DATASHEET, MANIFEST, STEP, ExportFolder, ExportRecipe
from windtunnel.curate.frame_boxes import boxes_content
from windtunnel.curate.frame_tables import (
    FRAME_SCHEMA,
    SETS_TABLE,
    VIDEOS_TABLE,
    SetFrame,
    VideoRow,
    read_set_frames,
    read_videos,
)
from windtunnel.curate.frame_verdicts import EXPORTED, FrameVerdicts, read_frame_verdicts
from windtunnel.curate.project import Project, counts
from windtunnel.curate.set_files import csv_text, declaration_text, set_name, sources_text, votes_text
from windtunnel.curate.steps import StepKind
from windtunnel.curate.video import VIDEO
from windtunnel.data import content_hash
from windtunnel.data.label_spaces import label_space_of
from windtunnel.data.own_sets import DECLARATION, checked_declaration
from windtunnel.options.export import ExportOptions
from windtunnel.store.parquet import parquet_bytes

FRAME_EXPORT = StepKind(STEP, ExportRecipe, FrameExportSummary)
# The published set that an exported one extends.
BASE = "pm-k"
FRAME_FOLDER = "val"
BOXES = "metadata/boxes.json"
VIDEOS = "videos.csv"
# Verdicts in the manifest, as of other sets.


@dataclass(frozen=True)
class FrameSetRow:
    """A candidate frame in the manifest of a set.

    Attributes:
        frame: the frame; its label status is `confirmed` if reviewers accepted it.
        video: its video.
        verdict: `accepted`, `rejected`, `no_majority`, or "" if nobody judged it.
        votes, notes: of each reviewer.
        outcome: `exported`, or why not: `rejected`, `no_majority`, `not_reviewed`, `anchor_rejected`,
            `anchor_no_majority`, `set_not_reviewed`.
    """

    frame: SetFrame
    video: VideoRow
    verdict: str
    votes: Mapping[str, str]
    notes: Mapping[str, str]
    outcome: str

    @property
    def file(self) -> str:
        """The path in the set, which is the key of the frame in the JSON files; "" if it is left out."""
        return frame_key(self.frame) if self.outcome == EXPORTED else ""


@dataclass(frozen=True)
class FrameSetExport:
    """An exported set of frame sets: what its datasheet says.

    Attributes:
        folder: where it is; `run` accepts it.
        own: its declaration.
        rows: every candidate frame of the project.
        videos: every video of the project, also those that could not be used.
        reviewed: whether verdicts decided.
    """

    folder: Path
    own: OwnSet
    rows: Sequence[FrameSetRow]
    videos: Sequence[VideoRow]
    reviewed: bool

    @property
    def exported(self) -> list[FrameSetRow]:
        """The frames in the set."""
        return [row for row in self.rows if row.outcome == EXPORTED]

    @property
    def sets(self) -> int:
        """The number of anchors."""
        return sum(not row.frame.offset for row in self.exported)

    @property
    def neighbours(self) -> int:
        """The number of frames that belong to them."""
        return len(self.exported) - self.sets

    @property
    def outcomes(self) -> dict[str, int]:
        """How many candidate frames have each outcome."""
        return counts(row.outcome for row in self.rows)


def export_frame_sets(
    project: Project,
    out: Path,
    options: ExportOptions,
    datasheet: Callable[[FrameSetExport], str],
    progress: Progress = silent,
) -> FrameSetExport:
    """Write the frame sets of a project in the layout of ImageNet-Vid-Robust, and return them.

    Args:
        project: a project with frame sets.
        out: the set's folder; the same command continues and repairs it.
        options: facts of the set, and `reviewed`, a table with the columns set, frame and verdict: only
            accepted frames are part of the sets. Without it all candidates are, and the set says so.
        datasheet: returns the page of a set.
        progress: counts frames.
    """
    if options.role is not None or options.mask:
        given = "role" if options.role is not None else "mask"
        raise UserError(f"{option(given)} does not apply to frame sets; leave it out.")
    folder = ExportFolder(out)
    with project.locked():
        made, recipe = _planned(project, out, options)
        with folder.opened(recipe):
            _write(project, folder, made, datasheet, progress)
        summary = FrameExportSummary(made.own.name, made.sets, made.neighbours, made.outcomes)
        project.finish(FRAME_EXPORT.of(made.own.name), recipe, summary)
    return made


def frame_key(frame: SetFrame) -> str:
    """The key of a frame in the JSON files, which is its path in the set."""
    return f"{FRAME_FOLDER}/{frame.video_name}/{frame.index:06d}.png"


def _planned(project: Project, out: Path, options: ExportOptions) -> tuple[FrameSetExport, ExportRecipe]:
    project.refuse_unfinished((VIDEO.name,))
    frames, videos = read_set_frames(project), read_videos(project)
    by_id = {video.id: video for video in videos if video.status != "duplicate"}
    review = None if options.reviewed is None else read_frame_verdicts(Path(options.reviewed), frames)
    frames = frames if review is None else review.relabelled(frames)
    outcomes = None if review is None else review.outcomes(frames)
    rows = [
        _row(frame, by_id[frame.video], review, EXPORTED if outcomes is None else outcomes[_key(frame)])
        for frame in frames
    ]
    rows = _with_labels_of_all_sets(rows)
    exported = [row for row in rows if row.outcome == EXPORTED]
    _check(project, frames, exported, review)
    own = _declaration(project, options, exported)
    made = FrameSetExport(out, own, rows, videos, review is not None)
    tables = [project.folder / SETS_TABLE, project.folder / VIDEOS_TABLE]
    recipe = ExportRecipe(
        project=project.recipe.name,
        candidates=named_files_digest(tables),
        audit="",
        verdicts="" if review is None else review.digest,
        options={"declaration": digest(made.own.to_json())},
    )
    return made, recipe


def _key(frame: SetFrame) -> tuple[str, int]:
    return frame.set, frame.index


def _row(frame: SetFrame, video: VideoRow, review: FrameVerdicts | None, outcome: str) -> FrameSetRow:
    if review is None:
        return FrameSetRow(frame, video, "", {}, {}, outcome)
    if outcome == EXPORTED:
        frame = dataclasses.replace(frame, label_status="confirmed")
    votes, notes = review.votes.get(_key(frame), {}), review.notes.get(_key(frame), {})
    return FrameSetRow(frame, video, review.of(frame), votes, notes, outcome)


def _with_labels_of_all_sets(rows: Sequence[FrameSetRow]) -> list[FrameSetRow]:
    """The rows; an exported frame that several sets share has the classes of all of them."""
    labels: dict[str, dict[str, None]] = {}
    for row in rows:
        labels.setdefault(row.file, {}).update(dict.fromkeys(row.frame.labels))
    return [
        dataclasses.replace(row, frame=dataclasses.replace(row.frame, labels=tuple(labels[row.file])))
        if row.outcome == EXPORTED
        else row
        for row in rows
    ]


def _check(
    project: Project,
    frames: Sequence[SetFrame],
    exported: Sequence[FrameSetRow],
    review: FrameVerdicts | None,
) -> None:
    """Refuse an export without sets or labels."""
    if not frames:
        raise UserError(
            f"{project.folder} has no frame set, because no video could be used; "
            f"{project.folder}/{VIDEOS_TABLE} has the reasons."
        )
    unlabelled = [row.frame.set for row in exported if not row.frame.offset and not row.frame.labels]
    if unlabelled:
        raise UserError(
            f"{counted(len(unlabelled), 'frame set')} ({unlabelled[0]} ...) without a label, and pm-k needs "
            f"one; repeat windtunnel curate video with {option('labels')}."
        )
    if not exported and review is not None:
        raise UserError(f"{review.location} accepts no frame set; nothing is left to export.")


def _declaration(project: Project, options: ExportOptions, exported: Sequence[FrameSetRow]) -> OwnSet:
    """How the set declares itself to `run`."""
    reviewed = options.reviewed is not None
    notes = list(options.notes)
    if not reviewed:
        notes.append("Without review: labels of neighbours are copied from their anchors.")
    own = OwnSet(
        name=options.name or set_name(project.recipe.name, "frames", "" if reviewed else "unreviewed"),
        extends=BASE,
        title=options.title or f"{project.recipe.name}, frame sets{'' if reviewed else ', without review'}",
        source=sources_text(row.video.source for row in exported),
        not_trained_on=tuple(options.not_trained_on),
        notes=tuple(notes),
    )
    return checked_declaration(own, option("name"))


def _write(
    project: Project,
    folder: ExportFolder,
    made: FrameSetExport,
    datasheet: Callable[[FrameSetExport], str],
    progress: Progress,
) -> None:
    """Write all files that are missing or differ."""
    files = {row.file: row.frame for row in made.exported}  # a frame of two sets once
    for file, frame in files.items():
        folder.write(file, _frame_content(project, frame))
        progress(1, len(files))
    for name, content in _metadata(made).items():
        folder.write(name, _json(content))
    manifest = _manifest(made)
    folder.write(f"{MANIFEST}.parquet", parquet_bytes(manifest))
    folder.write(f"{MANIFEST}.csv", csv_text(manifest).encode())
    folder.write(VIDEOS, csv_text(_videos(made)).encode())
    folder.write(DATASHEET, datasheet(made).encode())
    folder.write(DECLARATION, declaration_text(made.own).encode())


def _metadata(made: FrameSetExport) -> dict[str, Mapping[str, Any]]:
    """The JSON files of the published layout, by path.

    Class indices do not depend on the verdicts: they are those of all candidates.
    """
    anchors = {row.frame.set: row.file for row in made.exported if not row.frame.offset}
    sets: dict[str, list[str]] = {anchor: [] for anchor in anchors.values()}
    for row in made.exported:
        if row.frame.offset:
            sets[anchors[row.frame.set]].append(row.file)
    space, numbers = label_space_of(label for row in made.rows for label in row.frame.labels)
    written: Mapping[str, int | str] = {
        label: label if space.name == IMAGENET_1K else number for label, number in numbers.items()
    }
    labels = {row.file: [written[label] for label in row.frame.labels] for row in made.exported}
    files: dict[str, Mapping[str, Any]] = {"metadata/pmsets.json": sets, "metadata/labels.json": labels}
    if space.name not in (INDICES, IMAGENET_1K):
        files["misc/class_index.json"] = {str(place): name for place, name in enumerate(space.classes)}
    boxes = boxes_content({row.file: row.frame for row in made.exported})
    return files | ({BOXES: boxes} if boxes else {})


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _manifest(made: FrameSetExport) -> pa.Table:
    """A row for every candidate frame, whether exported or not."""
    columns = {
        name: pa.array([_cell(getattr(row.frame, name)) for row in made.rows], _cell_type(name))
        for name in FRAME_SCHEMA.names
        if name != "file"
    }
    return pa.table(
        {
            "outcome": [row.outcome for row in made.rows],
            "file": [row.file for row in made.rows],
            **columns,
            "video_file": [Path(row.video.path).name for row in made.rows],
            "source": [row.video.source for row in made.rows],
            "licence": [row.video.licence for row in made.rows],
            "verdict": [row.verdict for row in made.rows],
            "votes": [votes_text(row.votes) for row in made.rows],
            "review_notes": [votes_text(row.notes) for row in made.rows],
        }
    )


def _cell(value: Any) -> Any:
    """A value as one cell: several labels or flags are joined."""
    return ";".join(value) if isinstance(value, tuple) else value


def _cell_type(name: str) -> pa.DataType:
    type_ = FRAME_SCHEMA.field(name).type
    return pa.string() if pa.types.is_list(type_) else type_


def _videos(made: FrameSetExport) -> pa.Table:
    """A row for every video of the project; files are named without their folders."""
    rows = [dataclasses.asdict(video) | {"path": Path(video.path).name} for video in made.videos]
    return pa.Table.from_pylist(rows).rename_columns({"path": "file"})


def _frame_content(project: Project, frame: SetFrame) -> bytes:
    path = project.folder / frame.file
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror or error}; repeat windtunnel curate video."
        ) from error
    if content_hash(content) != frame.id:
        raise UserError(
            f"{path} was changed after it was decoded; remove it and repeat windtunnel curate video."
        )
    return content
