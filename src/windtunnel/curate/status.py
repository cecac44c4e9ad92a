"""The state of a curation project: steps, counts and the next command."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.curate.frame_tables import SETS_TABLE
from windtunnel.curate.project import Project, counts


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
        label_conflicts: how many stored images were given with several labels.
        steps: the summary of every finished step.
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
    label_conflicts: int
    steps: dict[str, dict[str, Any]]
    stages: dict[str, dict[str, int]]
    next: str
    review: str


def project_status(project: Project) -> ProjectStatus:
    """The state of a project; nothing is written."""
    rows = project.candidates()
    stored = [row for row in rows if row.status == "ok"]
    steps = project.steps()
    audits = project.audits()
    return ProjectStatus(
        name=project.recipe.name,
        location=str(project.folder),
        candidates=counts(row.status for row in rows),
        reasons={
            row.status: f"{row.url}: {row.reason}" if row.reason else row.url
            for row in reversed(rows)
            if row.status != "ok"
        },
        labels=counts(row.label_status for row in stored),
        classes=counts(row.label for row in stored if row.label),
        label_conflicts=sum(bool(row.reason) for row in stored),
        steps={name: record.summary for name, record in steps.items()},
        stages={name: counts(audit.stage for audit in project.audit(name).values()) for name in audits},
        next=_next_command(
            project,
            collected=bool(stored),
            filtered=any(not project.is_stale(name) for name in audits),
            videos="video" in steps,
        ),
        review=_review_command(project, audits),
    )


def _review_command(project: Project, shortlists: Sequence[str]) -> str:
    if not shortlists and not (project.folder / SETS_TABLE).is_file():
        return ""
    kind = "select" if shortlists else "pairs"
    source = f" --source {shortlists[0]}" if len(shortlists) > 1 else ""
    return f"windtunnel review create {shlex.quote(str(project.folder))} TASK --kind {kind}{source}"


def _next_command(project: Project, *, collected: bool, filtered: bool, videos: bool) -> str:
    folder = shlex.quote(str(project.folder))
    if videos and not collected:
        return f"windtunnel curate export {folder} --out SET"
    if not collected:
        return f"windtunnel curate collect TABLE --project {folder}"
    if not filtered:
        return f"windtunnel curate hard {folder} --filter MODEL"
    return f"windtunnel curate export {folder} --out SET"
