"""windtunnel review import: votes of an earlier review."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, LOG, print_json
from windtunnel.cli.printing import print_lines
from windtunnel.cli.review_database import DATABASE
from windtunnel.core.progress_bar import Bar
from windtunnel.core.wording import listed


@click.command("import", short_help="Add the votes of an earlier review to a task.")
@click.argument("project")
@click.argument("task")
@click.argument("votes", metavar="FILE")
@DATABASE
@AS_JSON
@LOG
def command(
    project: str, task: str, votes: str, database: str | None, as_json: bool, console: Console
) -> None:
    """Add the votes in FILE to TASK: a CSV file with id (or set and frame), verdict, reviewer and note.

    votes.csv of an export has all details. Reviewers who are not there yet are added without a link. The same
    file is not added twice. A vote does not replace a later one of the same person. Of several rows of one
    person on an item, the latest counts: by the column time, else the last one. Without a reviewer, an item
    has one row. Of a file with several tasks, only the rows of TASK are added.

    All rows are checked before the first is added. They are added in parts, and people can go on reviewing
    meanwhile; after an interruption, give the same file again.
    """
    with Bar(console, "adding votes") as bar:
        found = api.import_review_votes(project, task, votes, database=database, progress=bar)
    if as_json:
        print_json(asdict(found))
        return
    print_lines(
        Console(),
        [
            ("votes", f"{found.rows:,}, of which {found.added:,} are new"),
            (
                "left out",
                f"{found.outdated:,} that the person has judged later, {found.replaced:,} with a later row "
                f"of the same person, {found.other_tasks:,} of other tasks",
            ),
            ("people", listed(found.people)),
        ],
    )
