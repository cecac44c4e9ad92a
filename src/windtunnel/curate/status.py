"""The state of a curation project: steps, counts and the next command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.core.candidates import SHORTLISTED, Candidate
from windtunnel.core.conditions import digest
from windtunnel.curate.collect_journal import JOURNAL_SUFFIX
from windtunnel.curate.collected_batches import row_name
from windtunnel.curate.frame_tables import PARTS_FOLDER, SETS_TABLE, SetFrame, read_set_frames
from windtunnel.curate.hard import HARD
from windtunnel.curate.ood import OOD
from windtunnel.curate.project import CANDIDATES_FOLDER, COLLECT_STEP, Project, counts
from windtunnel.curate.steps import StepRecord
from windtunnel.curate.transfer import TRANSFER
from windtunnel.curate.video import VIDEO

# By filtering step: the threshold that a longer shortlist needs, and the count in its summary that says
# whether another threshold helps.
THRESHOLDS = {
    HARD.name: ("--max-true-confidence SHARE", "never_correct"),
    OOD.name: ("--min-confidence SHARE", "unrelated"),
}


@dataclass(frozen=True)
class ProjectStatus:
    """What was done in a project.

    Attributes:
        name: the project's name.
        location: its folder.
        candidates: how many rows have each status; `ok` are the stored images.
        reasons: an example of each status other than `ok`: where the row is from, and its reason.
        labels: how many stored images have each label status.
        classes: how many stored images each class has.
        unlabelled: how many stored images have no label.
        first_unlabelled: id and row of the first of them; "" if there is none.
        label_conflicts: how many stored images were given with several labels.
        steps: the summary of every finished step.
        unfinished: the steps that were started and not finished.
        outdated: why the results of a finished step are no longer those of the project, by step.
        stages: of each audit, how many candidates left at each stage.
        next: a command that continues the project.
        review: a command that lets people review its shortlist or frame sets; "" if it has none.
    """

    name: str
    location: str
    candidates: dict[str, int]
    reasons: dict[str, str]
    labels: dict[str, int]
    classes: dict[str, int]
    unlabelled: int
    first_unlabelled: str
    label_conflicts: int
    steps: dict[str, dict[str, Any]]
    unfinished: list[str]
    outdated: dict[str, str]
    stages: dict[str, dict[str, int]]
    next: str
    review: str


def project_status(project: Project) -> ProjectStatus:
    """The state of a project; nothing is written."""
    rows = project.candidates()
    stored = [row for row in rows if row.status == "ok"]
    unlabelled = [row for row in stored if not row.label]
    steps = project.steps()
    outdated = _outdated(project, steps)
    unfinished = _unfinished(project, steps)
    frames = read_set_frames(project) if (project.folder / SETS_TABLE).is_file() else ()
    shortlists = _shortlists(project, stored, outdated)
    return ProjectStatus(
        name=project.recipe.name,
        location=str(project.folder),
        candidates=counts(row.status for row in rows),
        reasons={
            row.status: ": ".join(filter(None, (row.url, row.reason)))
            for row in reversed(rows)
            if row.status != "ok"
        },
        labels=counts(row.label_status for row in stored),
        classes=counts(row.label for row in stored if row.label),
        unlabelled=len(unlabelled),
        first_unlabelled=_place(project, unlabelled[0]) if unlabelled else "",
        label_conflicts=sum(bool(row.reason) for row in stored),
        steps={name: record.summary for name, record in steps.items()},
        unfinished=unfinished,
        outdated=outdated,
        stages={
            name: counts(audit.stage for audit in project.audit(name).values()) for name in project.audits()
        },
        next=_next_command(project, rows, steps, unfinished, shortlists, frames),
        review=_review_command(project, shortlists, frames),
    )


def _place(project: Project, row: Candidate) -> str:
    return f"{row.id} ({row_name(row, project.batches())})"


def _unfinished(project: Project, steps: Mapping[str, StepRecord]) -> list[str]:
    """The steps that were started and not finished, also collecting."""
    unfinished = set(project.unfinished())
    if any((project.folder / CANDIDATES_FOLDER).glob(f"*{JOURNAL_SUFFIX}")):
        unfinished.add(COLLECT_STEP)
    if VIDEO.name not in steps and (project.folder / PARTS_FOLDER).is_dir():
        unfinished.add(VIDEO.name)
    return sorted(unfinished)


def _outdated(project: Project, steps: Mapping[str, StepRecord]) -> dict[str, str]:
    """Why the results of finished steps are no longer those of the project."""
    outdated = {
        name: "the candidates or their labels have changed since"
        for name in project.audits()
        if project.is_stale(name)
    }
    if transfer := steps.get(TRANSFER.name):
        hard = steps.get(HARD.name)
        same = hard is not None and transfer.recipe.get("hard") == digest(hard.recipe)
        if not same or HARD.name in outdated:
            outdated[TRANSFER.name] = "the shortlist has changed since"
    return outdated


def _shortlists(
    project: Project, stored: Sequence[Candidate], outdated: Mapping[str, str]
) -> dict[str, list[Candidate]]:
    """The shortlist of every audit; that of an outdated step is not listed."""
    shortlists = {}
    for name in project.audits():
        if name not in outdated:
            audit = project.audit(name)
            shortlists[name] = [
                row for row in stored if row.id in audit and audit[row.id].stage == SHORTLISTED
            ]
    return shortlists


def _review_command(
    project: Project, shortlists: Mapping[str, Sequence[Candidate]], frames: Sequence[SetFrame]
) -> str:
    names = [name for name, rows in shortlists.items() if rows]
    if not names and not frames:
        return ""
    kind = "select" if names else "pairs"
    source = f" --source {names[0]}" if names and len(project.audits()) > 1 else ""
    return f"windtunnel review create {shlex.quote(str(project.folder))} TASK --kind {kind}{source}"


def _next_command(
    project: Project,
    rows: Sequence[Candidate],
    steps: Mapping[str, StepRecord],
    unfinished: Sequence[str],
    shortlists: Mapping[str, Sequence[Candidate]],
    frames: Sequence[SetFrame],
) -> str:
    folder = shlex.quote(str(project.folder))
    collect = f"windtunnel curate collect TABLE --project {folder}"
    video = f"windtunnel curate video {folder} VIDEO"
    export = f"windtunnel curate export {folder} --out SET"
    if COLLECT_STEP in unfinished:
        return collect
    if VIDEO.name in unfinished:
        return video
    if filtering := [name for name in unfinished if name in THRESHOLDS]:
        return f"windtunnel curate {filtering[0]} {folder} --filter MODEL"
    if not any(row.status == "ok" for row in rows):
        if VIDEO.name not in steps:
            return collect
        if not frames:
            return video
        if any(not frame.labels for frame in frames if not frame.offset):
            return f"{video} --labels TABLE"
        return f"{export} --step {VIDEO.name}" if rows else export
    if not shortlists:
        return f"windtunnel curate {HARD.name} {folder} --filter MODEL"
    usable = [name for name, chosen in shortlists.items() if _is_a_set(name, chosen)]
    if usable:
        return f"{export} --step {usable[0]}" if len(project.audits()) > 1 else export
    for name in shortlists:
        threshold, left = THRESHOLDS[name]
        if steps[name].summary.get(left):
            return f"windtunnel curate {name} {folder} --filter MODEL {threshold}"
    return collect


def _is_a_set(step: str, shortlist: Sequence[Candidate]) -> bool:
    """Whether a shortlist can be exported: a set that is not out of distribution needs two classes."""
    return len({row.label for row in shortlist}) > 1 if step == HARD.name else bool(shortlist)
