"""windtunnel curate show: what happened to one candidate, row, frame set or video."""

from __future__ import annotations

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json
from windtunnel.cli.printing import print_lines


@click.command("show", short_help="Print what happened to one candidate, and why.")
@click.argument("project")
@click.argument("candidate", metavar="TEXT")
@AS_JSON
def command(project: str, candidate: str, as_json: bool) -> None:
    """Print where the candidate TEXT of PROJECT came from, every model's predictions, and why it left.

    TEXT is an id or the beginning of one; or the URL, file or file name of a row, also of one that is not
    stored; or "row N"; or a video, a frame set, or SET#INDEX for one frame.

    \b
    Examples:
      windtunnel curate show my-project 3fa9
      windtunnel curate show my-project https://example.org/photos/1.jpg
    """
    lines = api.candidate_audit(project, candidate)
    if as_json:
        print_json([{"name": name.strip(), "text": text} for name, text in lines])
    else:
        print_lines(Console(), lines)
