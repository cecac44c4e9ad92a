"""windtunnel review export: verdicts, votes and agreement."""

from __future__ import annotations

import shlex
from dataclasses import asdict

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json
from windtunnel.cli.printing import print_lines
from windtunnel.cli.review_database import DATABASE


@click.command("export", short_help="Write verdicts, votes, events and agreement.")
@click.argument("project")
@click.argument("tasks", nargs=-1, required=True, metavar="TASK...")
@click.option("--out", metavar="FOLDER", required=True, help="The folder of the files.")
@DATABASE
@AS_JSON
def command(project: str, tasks: tuple[str, ...], out: str, database: str | None, as_json: bool) -> None:
    """Write the verdicts of a TASK, its votes and events, and the agreement of the people.

    verdicts.csv is the table that curate export reads with --reviewed. Only items that a strict majority or
    the second pass accepts are accepted. Of frame sets, the tasks on anchors and on pairs are given together.

    \b
    Examples:
      windtunnel review export birds choose --out birds-review
      windtunnel curate export birds --out birds-hard --reviewed birds-review/verdicts.csv
      windtunnel review export cars anchors pairs --out cars-review
      windtunnel curate export cars --step video --out cars-pm --reviewed cars-review/verdicts.csv
    """
    made = api.export_review(project, tasks, out, database=database)
    if as_json:
        print_json(asdict(made) | {"folder": str(made.folder), "verdicts": str(made.verdicts)})
        return
    step = ["--step", "video"] if made.frames else []
    notes = [part for note in made.notes for part in ("--note", note)]
    following = ["windtunnel", "curate", "export", project, *step, "--out", "SET"]
    print_lines(
        Console(),
        [
            ("folder", str(made.folder)),
            (
                "items",
                f"{made.items:,}: {made.accepted:,} accepted, {made.rejected:,} rejected, {made.conflicts:,} "
                f"in conflict (not accepted), {made.open:,} open (not exported)",
            ),
            ("votes", f"{made.votes:,}"),
            *(("note", note) for note in made.notes),
            ("next", shlex.join([*following, "--reviewed", str(made.verdicts), *notes])),
        ],
    )
