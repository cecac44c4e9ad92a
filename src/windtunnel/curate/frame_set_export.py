"""Frame sets in the layout of ImageNet-Vid-Robust, which `windtunnel run` reads and scores by pm-k.

metadata/pmsets.json      anchor to the list of its frames
metadata/labels.json      frame to the list of its classes
metadata/manifest.csv     every candidate frame, with its label status, flags and verdict
misc/class_index.json     class index to name, unless labels are class indices or WordNet ids
val/<video>/000123.png    frames, numbered by their place in the video
windtunnel.toml           declaration of the set
SHA256SUMS                written last
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.core.conditions import digest
from windtunnel.core.errors import UserError
from windtunnel.core.labels import IMAGENET_1K, INDICES
from windtunnel.core.option_names import option
from windtunnel.core.records import OwnSet
from windtunnel.core.wording import counted
from windtunnel.curate.export import CHECKSUMS
from windtunnel.curate.frame_tables import VIDEOS_TABLE, SetFrame, read_set_frames
from windtunnel.curate.frame_verdicts import FrameVerdicts, read_frame_verdicts
from windtunnel.curate.project import Project
from windtunnel.curate.set_files import checksums_text, declaration_text
from windtunnel.data import content_hash
from windtunnel.data.label_spaces import label_space_of
from windtunnel.data.own_sets import DECLARATION, checked_declaration
from windtunnel.options.export import ExportOptions
from windtunnel.store.atomic_files import refuse_unwritable, write_whole

RECIPE_FILE = "export.json"
# The published set that an exported one extends.
BASE = "pm-k"
FRAME_FOLDER = "val"
WITH_REVIEW, WITHOUT_REVIEW = "with review", "without review"


@dataclass(frozen=True)
class FrameSetExport:
    """An exported set.

    Attributes:
        folder: the folder, which `run` accepts.
        review: `with review` or `without review`.
        sets: the number of anchors.
        frames: the number of neighbours that belong to them.
        candidates: the number of candidate frames, anchors included.
        left_out: how many candidates were left out for each reason.
    """

    folder: Path
    review: str
    sets: int
    frames: int
    candidates: int
    left_out: Mapping[str, int]


def export_frame_sets(project: Project, out: Path, options: ExportOptions) -> FrameSetExport:
    """Write the frame sets of a project in the layout of ImageNet-Vid-Robust; an unfinished export continues.

    Args:
        project: a project with frame sets.
        out: the folder; new, or with the same export.
        options: facts of the set, and `reviewed`, a table with the columns set, frame and verdict: only
            accepted frames are part of the sets. Without it all candidates are, and the set says so.
    """
    if options.role is not None or options.mask:
        given = "role" if options.role is not None else "mask"
        raise UserError(f"{option(given)} does not apply to frame sets; leave it out.")
    with project.locked():
        frames = read_set_frames(project)
        review = None if options.reviewed is None else read_frame_verdicts(Path(options.reviewed), frames)
        frames = frames if review is None else review.relabelled(frames)
        own = _declaration(project, options)
        reasons = {(frame.set, frame.index): "" for frame in frames}
        if review is not None:
            reasons = review.reasons(frames)
        kept = [frame for frame in frames if not reasons[frame.set, frame.index]]
        _check(project, frames, kept, review)
        recipe = {
            "review": WITHOUT_REVIEW if review is None else WITH_REVIEW,
            "frames": digest({"rows": [dataclasses.asdict(frame) for frame in frames]}),
            "verdicts": "" if review is None else review.digest,
            "declaration": digest(own.to_json()),
        }
        _begin(out, recipe)
        _write(project, out, kept, _texts(own, frames, kept, reasons, review))
    left_out: dict[str, int] = {}
    for reason in filter(None, reasons.values()):
        left_out[reason] = left_out.get(reason, 0) + 1
    anchors = sum(not frame.offset for frame in kept)
    return FrameSetExport(out, recipe["review"], anchors, len(kept) - anchors, len(frames), left_out)


def frame_key(frame: SetFrame) -> str:
    """The key of a frame in the JSON files, which is its path in the set."""
    return f"{FRAME_FOLDER}/{frame.video_name}/{frame.index:06d}.png"


def _check(
    project: Project, frames: Sequence[SetFrame], kept: Sequence[SetFrame], review: FrameVerdicts | None
) -> None:
    """Refuse an export without sets or labels."""
    if not frames:
        raise UserError(
            f"{project.folder} has no frame set, because no video could be used; "
            f"{project.folder}/{VIDEOS_TABLE} has the reasons."
        )
    unlabelled = [frame.set for frame in kept if not frame.offset and not frame.labels]
    if unlabelled:
        raise UserError(
            f"{counted(len(unlabelled), 'frame set')} ({unlabelled[0]} ...) without a label, and pm-k needs "
            f"one; repeat windtunnel curate video with {option('labels')}."
        )
    if not kept and review is not None:
        raise UserError(f"{review.location} accepts no frame set; nothing is left to export.")


def _begin(out: Path, recipe: Mapping[str, Any]) -> None:
    """Store the recipe of the export; refuses a folder with other files or another export."""
    refuse_unwritable(out, "set")
    text = (json.dumps(recipe, indent=2) + "\n").encode()
    if (out / RECIPE_FILE).is_file():
        if (out / RECIPE_FILE).read_bytes() != text:
            raise UserError(f"{out} has another export; choose another folder with {option('out')}.")
    elif out.is_dir() and any(out.iterdir()):
        raise UserError(f"{out} contains other files; choose another folder with {option('out')}.")
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / RECIPE_FILE, text)


def _texts(
    own: OwnSet,
    frames: Sequence[SetFrame],
    kept: Sequence[SetFrame],
    reasons: Mapping[tuple[str, int], str],
    review: FrameVerdicts | None,
) -> dict[str, bytes]:
    """The files besides frames, by path."""
    anchors = {frame.set: frame_key(frame) for frame in kept if not frame.offset}
    sets: dict[str, list[str]] = {anchor: [] for anchor in anchors.values()}
    for frame in kept:
        if frame.offset:
            sets[anchors[frame.set]].append(frame_key(frame))
    space, numbers = label_space_of(label for frame in kept for label in frame.labels)
    named = space.name not in (INDICES, IMAGENET_1K)
    written: Mapping[str, int | str] = {
        label: label if space.name == IMAGENET_1K else number for label, number in numbers.items()
    }
    labels = {frame_key(frame): [written[label] for label in frame.labels] for frame in kept}
    files = {
        "metadata/pmsets.json": _json(sets),
        "metadata/labels.json": _json(labels),
        "metadata/manifest.csv": _manifest(frames, reasons, review),
        DECLARATION: declaration_text(own).encode(),
    }
    if named:
        files["misc/class_index.json"] = _json({str(place): name for place, name in enumerate(space.classes)})
    return files


def _declaration(project: Project, options: ExportOptions) -> OwnSet:
    """How the set declares itself to `run`."""
    reviewed = options.reviewed is not None
    notes = list(options.notes)
    if not reviewed:
        notes.append("Without review: labels of neighbours are copied from their anchors.")
    words = re.findall(r"[a-z0-9]+", project.recipe.name.lower()) or ["set"]
    own = OwnSet(
        name=options.name or "-".join([*words, "frames", *([] if reviewed else ["unreviewed"])])[:80],
        extends=BASE,
        title=options.title
        or f"{project.recipe.name}, frame sets {WITH_REVIEW if reviewed else WITHOUT_REVIEW}",
        not_trained_on=tuple(options.not_trained_on),
        notes=tuple(notes),
    )
    return checked_declaration(own, option("name"))


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _manifest(
    frames: Sequence[SetFrame], reasons: Mapping[tuple[str, int], str], review: FrameVerdicts | None
) -> bytes:
    """A row for each candidate frame: its facts, verdict and the reason why it is left out."""
    text = io.StringIO()
    own = [field.name for field in dataclasses.fields(SetFrame) if field.name != "file"]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["key", *own, "verdict", "votes", "left_out"])
    for frame in frames:
        values = dataclasses.asdict(frame)
        reason = reasons[frame.set, frame.index]
        votes = {} if review is None else review.votes.get((frame.set, frame.index), {})
        if review is not None and not reason:
            values["label_status"] = "confirmed"
        writer.writerow(
            [
                frame_key(frame),
                *(
                    ";".join(values[name]) if isinstance(values[name], tuple) else values[name]
                    for name in own
                ),
                "" if review is None else review.of(frame),
                ";".join(f"{name or 'reviewer'}={verdict}" for name, verdict in sorted(votes.items())),
                reason,
            ]
        )
    return text.getvalue().encode()


def _write(
    project: Project,
    out: Path,
    kept: Sequence[SetFrame],
    texts: Mapping[str, bytes],
) -> None:
    """Write the frames, the other files, and last the checksums."""
    sums: dict[str, str] = {}
    for frame in {frame_key(frame): frame for frame in kept}.values():
        content = _frame_content(project, frame)
        _write_new(out / frame_key(frame), content)
        sums[frame_key(frame)] = hashlib.sha256(content).hexdigest()
    for path, content in texts.items():
        _write_new(out / path, content)
        sums[path] = hashlib.sha256(content).hexdigest()
    write_whole(out / CHECKSUMS, checksums_text(sums).encode())


def _write_new(path: Path, content: bytes) -> None:
    """Write a file unless it has this content already."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content, durable=False)


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
