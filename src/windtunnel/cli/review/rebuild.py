"""windtunnel review rebuild: everything derived from events, computed again."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, LOG, print_json
from windtunnel.cli.printing import print_lines
from windtunnel.cli.review_database import DATABASE
from windtunnel.core.progress_bar import Bar
from windtunnel.core.wording import counted


@click.command("rebuild", short_help="Recompute everything that is derived from events.")
@click.argument("project")
@DATABASE
@AS_JSON
@LOG
def command(project: str, database: str | None, as_json: bool, console: Console) -> None:
    """Recompute verdicts in force, outcomes and queues of PROJECT from its events, and print what changed.

    Events are never changed. It is needed after a repair of the database by hand, or if a new version of
    windtunnel orders events differently. The review may be served meanwhile.
    """
    with Bar(console, "recomputing items") as bar:
        found = api.rebuild_review(project, database=database, progress=bar)
    if as_json:
        print_json(asdict(found))
        return
    changes = (
        f"{counted(found.verdicts, 'verdict')} in force, {counted(found.outcomes, 'outcome')} of items, "
        f"{counted(found.places, 'place')} of queues"
    )
    print_lines(
        Console(),
        [
            ("read", f"{counted(found.events, 'event')} on {counted(found.items, 'item')}"),
            ("changed", changes if found.changed else "nothing: all was as the events say"),
        ],
    )
