"""windtunnel review create: a task from a curation project or a folder of images."""

from __future__ import annotations

import shlex
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, LOG, print_json, record_options
from windtunnel.cli.printing import print_lines
from windtunnel.cli.review_database import DATABASE
from windtunnel.core.progress_bar import Bar
from windtunnel.core.wording import counted
from windtunnel.options import ReviewOptions


@click.command("create", short_help="Create a task from a project or a folder of images.")
@click.argument("project")
@click.argument("task")
@click.option(
    "--kind",
    required=True,
    help="anchors: every class an image shows; pairs: frames against their anchor; select: valid images; "
    "blind: classify without seeing the label.",
)
@record_options(ReviewOptions)
@DATABASE
@AS_JSON
@LOG
def command(
    project: str,
    task: str,
    kind: str,
    database: str | None,
    as_json: bool,
    console: Console,
    **options: Any,
) -> None:
    """Create the review task TASK on the images or frame sets of PROJECT.

    A task is never changed afterwards. Every person sees the items in an order of their own, and every item
    is judged by --overlap people.

    \b
    Examples:
      windtunnel review create birds choose --kind select --overlap 2
      windtunnel review create cars pairs --kind pairs --second-pass flagged --answers known.csv
      windtunnel review create photos classify --kind blind --images ./photos
    """
    with Bar(console, "collecting images") as bar:
        made = api.create_review_task(
            project, task, kind, ReviewOptions(**options), database=database, progress=bar
        )
    counts = {role: made.counts.get(role, 0) for role in ("work", "practice", "check", "example")}
    if as_json:
        print_json({"task": made.name, "kind": kind, "overlap": made.recipe.overlap, "items": counts})
        return
    known = ", ".join(f"{role} {count:,}" for role, count in counts.items() if count and role != "work")
    print_lines(
        Console(),
        [
            ("task", f"{made.name}   {made.recipe.title}"),
            (
                "items",
                f"{counted(counts['work'], 'item')}{f', and {known}' if known else ''}",
            ),
            ("people", shlex.join(["windtunnel", "review", "people", project, "NAME..."])),
            ("serve", shlex.join(["windtunnel", "review", "serve", project])),
        ],
    )
