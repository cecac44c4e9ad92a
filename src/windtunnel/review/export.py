"""Export of a review: verdicts for `curate export --reviewed`, raw votes, events and the agreement report."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.core.csv_cells import csv_cell
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.wording import counted, listed
from windtunnel.review.agreement import Accuracy, TaskAgreement
from windtunnel.review.kinds import ACCEPT, CONFLICT, OPEN, REJECT, UNSURE
from windtunnel.review.kinds.anchors import Anchors
from windtunnel.review.kinds.pairs import Pairs
from windtunnel.review.people import MAJORITY
from windtunnel.review.progress import TaskProgress
from windtunnel.review.records import WORK
from windtunnel.review.review import Review
from windtunnel.review.tasks import Task
from windtunnel.review.verdict_tables import SEPARATOR, TYPED
from windtunnel.review.votes import JudgedItem
from windtunnel.store.atomic_files import UNFINISHED, refuse_unwritable, write_whole

VERDICTS_FILE, VOTES_FILE, EVENTS_FILE = "verdicts.csv", "votes.csv", "events.csv"
AGREEMENT_FILE = "agreement.json"
# Who gave the verdicts of the table that no single reviewer gave.
SECOND_PASS, UNDECIDED, MARKED = "second pass", "undecided", "bad anchor"
IMAGE_COLUMNS = ("id", "label", "verdict", "reviewer", "note")
FRAME_COLUMNS = ("set", "frame", "verdict", "reviewer", "labels", "judged_labels", "note")


@dataclass(frozen=True)
class ReviewExport:
    """The files of an exported review.

    Attributes:
        folder: where they are.
        verdicts: the table for `curate export --reviewed`.
        items, accepted, rejected: work items in all, and decided ones.
        conflicts: items without a decision, which count as not accepted.
        open: items with too few verdicts, which are not in the table.
        votes: verdicts in force.
        notes: sentences for readers of the set, such as human accuracy.
        frames: whether the tasks judged frame sets.
    """

    folder: Path
    verdicts: Path
    items: int
    accepted: int
    rejected: int
    conflicts: int
    open: int
    votes: int
    notes: tuple[str, ...]
    frames: bool


def export_review(review: Review, tasks: Sequence[Task], out: Path) -> ReviewExport:
    """Write the verdicts, votes, events and agreement of tasks into a folder.

    Args:
        review: the review.
        tasks: tasks on frame sets, or a task on images.
        out: the folder; files of an earlier export of the same tasks are replaced.
    """
    _refuse_other_files(out, review, tasks)
    made = collect_export(review, tasks)
    out.mkdir(parents=True, exist_ok=True)
    for name, content in made.files.items():
        write_whole(out / name, content)
    progress = made.progress
    return ReviewExport(
        folder=out,
        verdicts=out / VERDICTS_FILE,
        items=sum(task.counts[WORK] for task in tasks),
        accepted=sum(found.accepted for found in progress),
        rejected=sum(found.rejected for found in progress),
        conflicts=sum(found.conflicts for found in progress),
        open=sum(found.open for found in progress),
        votes=made.votes,
        notes=made.notes,
        frames=made.by_frame,
    )


def _refuse_other_files(out: Path, review: Review, tasks: Sequence[Task]) -> None:
    """Refuse a folder that cannot be written, or contains other files or the export of other tasks."""
    refuse_unwritable(out, "export")
    if not out.exists():
        return
    # The report is written first: without it, no file is one of an export.
    begun = (out / AGREEMENT_FILE).exists()
    own = (AGREEMENT_FILE, VERDICTS_FILE, VOTES_FILE, EVENTS_FILE) if begun else ()
    allowed = {AGREEMENT_FILE + UNFINISHED, *own, *(name + UNFINISHED for name in own)}
    try:
        stored = json.loads((out / AGREEMENT_FILE).read_bytes()) if begun else {}
        names = [str(row["task"]) for row in stored["tasks"]] if begun else []
        project = str(stored["project"]) if begun else ""
        others = any(entry.name not in allowed for entry in out.iterdir())
    except (OSError, ValueError, KeyError, TypeError):
        others = True
    if others:
        raise UserError(
            f"{out} contains other files; give a separate folder for the export with {option('out')}."
        )
    if begun and (project, sorted(names)) != (_project(review), sorted(task.name for task in tasks)):
        raise UserError(
            f"{out} contains the export of {listed(names)} of the project {project}; choose another folder "
            f"with {option('out')}."
        )


def _project(review: Review) -> str:
    return review.folder.resolve().name


@dataclass(frozen=True)
class CollectedExport:
    """The content of an export: its files by name, and what is counted in it."""

    files: Mapping[str, bytes]
    progress: tuple[TaskProgress, ...]
    votes: int
    notes: tuple[str, ...]
    by_frame: bool


def collect_export(review: Review, tasks: Sequence[Task]) -> CollectedExport:
    """The files of an export, all of one state; refuses tasks that one table of verdicts cannot join."""
    with review.one_state():
        return _collect(review, tasks)


def _collect(review: Review, tasks: Sequence[Task]) -> CollectedExport:
    judged = {task.name: list(review.judged_items(task)) for task in tasks}
    kinds = {"set" in item.item.facts for items in judged.values() for item in items}
    if len(kinds) > 1:
        raise UserError("The tasks judge images and frame sets; export them one after the other.")
    (by_frame,) = kinds
    if not by_frame and len(tasks) > 1:
        raise UserError(
            f"Several tasks judge the same images ({', '.join(judged)}); export them one after the other."
        )
    progress = tuple(review.progress(task) for task in tasks)
    agreement = [review.agreement(task) for task in tasks]
    votes = [row for task in tasks for row in _vote_rows(task, judged[task.name])]
    notes = tuple(note for found in agreement for note in _notes(found))
    report = {
        "project": _project(review),
        "tasks": [_report(*found) for found in zip(tasks, progress, agreement, strict=True)],
        "notes": list(notes),
    }
    bad = {anchor for task in tasks for anchor in _bad_anchors(task, judged[task.name])}
    verdicts = [
        row
        for task in tasks
        for row in _verdict_rows(task, judged[task.name], by_frame)
        if (row.get("set"), row.get("frame")) not in bad
    ]
    verdicts += [
        {"set": set_, "frame": anchor, "verdict": REJECT, "reviewer": MARKED} for set_, anchor in sorted(bad)
    ]
    files = {
        AGREEMENT_FILE: (json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode(),
        VERDICTS_FILE: _csv(verdicts, FRAME_COLUMNS if by_frame else IMAGE_COLUMNS),
        VOTES_FILE: _csv(votes),
        EVENTS_FILE: _csv(row for task in tasks for row in review.event_rows(task)),
    }
    return CollectedExport(files, progress, len(votes), notes, by_frame)


def _verdict_rows(task: Task, judged: Sequence[JudgedItem], by_frame: bool) -> Iterator[dict[str, Any]]:
    """Rows whose strict majority, for each item, is its decision; open items have none.

    An item that a majority decided has all its votes. One that the second pass decided, or has still to
    decide, has a single row.
    """
    for item in judged:
        if item.item.outcome == OPEN:
            continue
        facts = item.item.facts
        if by_frame:
            labels = SEPARATOR.join(_labels(task, item))
            judged_labels = SEPARATOR.join(item.item.labels)
            place = {
                "set": facts["set"], "frame": facts["frame"], "labels": labels,
                "judged_labels": judged_labels,
            }  # fmt: skip
        else:
            place = {"id": facts["id"], "label": next(iter(item.item.labels), "")}
        if item.decision is not None:
            note = str(item.decision.get("note", ""))
            yield place | {"verdict": item.item.outcome, "reviewer": SECOND_PASS, "note": note}
        elif item.item.outcome == CONFLICT:
            yield place | {"verdict": UNSURE, "reviewer": UNDECIDED, "note": ""}
        else:
            for vote in item.votes:
                voted = task.kind.vote(task.kind.read(vote.verdict), item.item.labels)
                yield place | {
                    "verdict": voted, "reviewer": vote.person.name, "note": vote.verdict["note"],
                }  # fmt: skip


def _labels(task: Task, item: JudgedItem) -> tuple[str, ...]:
    """The classes that people have confirmed for an accepted anchor."""
    if not isinstance(task.kind, Anchors) or item.item.outcome != ACCEPT:
        return ()
    if item.decision is not None:
        return task.kind.read(item.decision).labels
    return task.kind.majority_labels([task.kind.read(vote.verdict) for vote in item.votes])


def _bad_anchors(task: Task, judged: Sequence[JudgedItem]) -> set[tuple[str, int]]:
    """The sets whose anchor a strict majority, or the second pass, calls bad in one of its pairs.

    Such an anchor is rejected whatever the votes on it say; it removes its set.
    """
    kind = task.kind
    if not isinstance(kind, Pairs):
        return set()
    found = set()
    for item in judged:
        if item.item.outcome == OPEN:
            continue
        if item.decision is not None:
            bad = kind.read(item.decision).bad_anchor
        else:
            bad = 2 * sum(kind.read(vote.verdict).bad_anchor for vote in item.votes) > len(item.votes)
        if bad:
            found.add((item.item.facts["set"], item.item.facts["anchor"]))
    return found


def _vote_rows(task: Task, judged: Sequence[JudgedItem]) -> Iterator[dict[str, Any]]:
    """A row for each verdict in force."""
    for item in judged:
        facts = item.item.facts
        for vote in item.votes:
            yield {
                "task": task.name,
                "id": facts.get("id", ""),
                "set": facts.get("set", ""),
                "frame": facts.get("frame", ""),
                "reviewer": vote.person.name,
                "vote": task.kind.vote(task.kind.read(vote.verdict), item.item.labels),
                "verdict": json.dumps(vote.verdict, ensure_ascii=False),
                "outcome": item.item.outcome,
                "time": vote.time,
            }


def _report(task: Task, progress: TaskProgress, agreement: TaskAgreement) -> dict[str, Any]:
    """The agreement report of a task: numbers with 95 % intervals; null where one is not defined."""
    return {
        "task": task.name,
        "kind": task.kind.name,
        "overlap": task.recipe.overlap,
        "second_pass": task.recipe.second_pass,
        "items": task.counts[WORK],
        "open": progress.open,
        "accepted": progress.accepted,
        "rejected": progress.rejected,
        "conflicts": progress.conflicts,
        "resolved": progress.resolved,
        "people": [
            {"name": row.person.name, "judged": row.judged, "per_hour": row.per_hour}
            for row in progress.people
        ],
        "questions": [_plain(dataclasses.asdict(question)) for question in agreement.questions],
        "accuracy": [
            {
                "who": row.who,
                "what": row.what,
                "correct": row.correct,
                **_plain(dataclasses.asdict(row.share)),
            }
            for row in agreement.accuracy
        ],
    }


def _plain(value: Any) -> Any:
    """A value with null for numbers that are not defined."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _notes(found: TaskAgreement) -> list[str]:
    """Sentences for readers of the set."""
    # The majority's row is the last one on classes, should an older database have a person of that name.
    rows = [row for row in found.accuracy if (row.who, row.what) == (MAJORITY, "classes")]
    return [_accuracy_note(row) for row in rows[-1:]]


def _accuracy_note(row: Accuracy) -> str:
    share = row.share
    return (
        f"Human accuracy {100 * share.value:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f}, 95 % "
        f"interval), by strict majority on {counted(row.items, 'image')}."
    )


def _csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> bytes:
    text = io.StringIO()
    listed = list(rows)
    names = list(columns) or (list(listed[0]) if listed else [])
    writer = csv.DictWriter(text, names, lineterminator="\n", restval="")
    writer.writeheader()
    for row in listed:
        writer.writerow({**row, **{name: csv_cell(str(row[name])) for name in TYPED if name in row}})
    return text.getvalue().encode()
