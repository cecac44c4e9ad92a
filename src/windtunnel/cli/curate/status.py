"""windtunnel curate status: what was done in a project."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json
from windtunnel.cli.printing import print_lines
from windtunnel.core.wording import counted, listed

# Classes that are listed.
CLASSES_SHOWN = 8
FINISHED = "finished"


@click.command("status", short_help="Show finished steps, counts by stage and the next command.")
@click.argument("project")
@AS_JSON
def command(project: str, as_json: bool) -> None:
    """Show the finished steps of PROJECT, its candidates by status and stage, and the next command."""
    status = api.project_status(project)
    if as_json:
        print_json(asdict(status))
    else:
        print_lines(Console(), _lines(status))


def _lines(status: api.ProjectStatus) -> list[tuple[str, str]]:
    candidates = [
        ("candidates", f"{sum(status.candidates.values()):,}: {_counts(status.candidates)}"),
        *(("example", f"{_words(name)}: {reason}") for name, reason in sorted(status.reasons.items())),
        ("labels", _counts(status.labels)),
        *([("unlabelled", _unlabelled(status))] if status.unlabelled else []),
        *([("conflicts", _conflicts(status))] if status.label_conflicts else []),
        ("classes", f"{len(status.classes):,}: {_counts(status.classes)}"),
    ]
    return [
        ("project", f"{status.name}   {status.location}"),
        *(candidates if status.candidates or not status.steps else []),
        *(("step", f"{name}: {_step(status, name)}") for name in status.steps),
        *(("unfinished", f"{name}: started, not finished; repeat its command") for name in status.unfinished),
        *(("stages", f"{name}: {_counts(stages)}") for name, stages in status.stages.items()),
        *([("review", status.review)] if status.review else []),
        ("next", status.next),
    ]


def _step(status: api.ProjectStatus, name: str) -> str:
    """The summary of a step, or why it is outdated."""
    summary = _summary(status.steps[name])
    if name not in status.outdated:
        return summary
    values = "" if summary == FINISHED else f"; {summary}"
    return f"outdated, {status.outdated[name]}{values}"


def _unlabelled(status: api.ProjectStatus) -> str:
    return f"{counted(status.unlabelled, 'stored image')}, the first is {status.first_unlabelled}"


def _conflicts(status: api.ProjectStatus) -> str:
    return (
        f"{counted(status.label_conflicts, 'image')} given with several labels; the latest collection decides"
    )


def _counts(numbers: dict[str, int]) -> str:
    return listed([f"{name} {number:,}" for name, number in numbers.items()], CLASSES_SHOWN)


def _summary(summary: dict[str, object]) -> str:
    """The plain values of a step's summary, and the counts of a video step."""
    plain = [
        f"{_words(key)} {value}" for key, value in summary.items() if isinstance(value, str | int | float)
    ]
    videos = summary.get("videos")
    if isinstance(videos, dict):
        plain.insert(0, f"videos {sum(videos.values()):,} ({_counts(videos)})")
    return ", ".join(plain) or FINISHED


def _words(key: str) -> str:
    """A name of a record in words."""
    return key.replace("_", " ")
