"""windtunnel curate show: the audit of one candidate."""

from __future__ import annotations

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json
from windtunnel.cli.printing import print_lines


@click.command("show", short_help="Print what happened to one candidate, and why.")
@click.argument("project")
@click.argument("candidate", metavar="ID")
@AS_JSON
def command(project: str, candidate: str, as_json: bool) -> None:
    """Print where candidate ID of PROJECT came from, every model's predictions of its crops, and why it left.

    ID may be the beginning of an id.
    """
    lines = api.candidate_audit(project, candidate)
    if as_json:
        print_json([{"name": name.strip(), "text": text} for name, text in lines])
    else:
        print_lines(Console(), lines)
