"""windtunnel review status: how far the tasks of a project are."""

from __future__ import annotations

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json
from windtunnel.cli.printing import print_lines, print_table
from windtunnel.cli.review_database import DATABASE
from windtunnel.core.wording import counted


@click.command("status", short_help="Show what is decided, and what each person has done.")
@click.argument("project")
@DATABASE
@AS_JSON
def command(project: str, database: str | None, as_json: bool) -> None:
    """Show for every task of PROJECT what is decided, and what each person has done."""
    tasks = api.review_progress(project, database=database)
    if as_json:
        print_json([_json(found) for found in tasks])
        return
    if not tasks:
        click.echo(f"No task yet; create one with windtunnel review create {project} TASK --kind KIND.")
    console = Console()
    for found in tasks:
        print_lines(
            console,
            [
                ("task", f"{found.task.name}   {found.task.recipe.title}"),
                ("items", _items(found)),
            ],
        )
        rows = [
            (
                row.person.name,
                f"{row.judged:,}",
                "" if row.per_hour is None else f"{row.per_hour:,.0f}",
                f"{row.checks_correct}/{row.checks}",
                f"{row.practice.correct}/{len(row.practice.items)}",
            )
            for row in found.people
        ]
        if rows:
            print_table(console, ("person", "judged", "per hour", "checks right", "practice right"), rows)


def _items(found: api.TaskProgress) -> str:
    task = found.task
    return (
        f"{counted(task.counts['work'], 'item')}, {counted(task.recipe.overlap, 'person', 'people')} each: "
        f"{found.accepted:,} accepted, {found.rejected:,} rejected, {found.conflicts:,} in conflict, "
        f"{found.open:,} open"
    )


def _json(found: api.TaskProgress) -> dict[str, object]:
    return {
        "task": found.task.name,
        "kind": found.task.kind.name,
        "items": found.task.counts["work"],
        "overlap": found.task.recipe.overlap,
        "open": found.open,
        "accepted": found.accepted,
        "rejected": found.rejected,
        "conflicts": found.conflicts,
        "resolved": found.resolved,
        "people": [
            {
                "name": row.person.name,
                "judged": row.judged,
                "per_hour": row.per_hour,
                "median_seconds": row.median_seconds,
                "checks": row.checks,
                "checks_correct": row.checks_correct,
                "practice_correct": row.practice.correct,
                "practice_items": len(row.practice.items),
            }
            for row in found.people
        ],
    }
