"""windtunnel leaderboard: a sortable page of own models over one or more suites."""

from __future__ import annotations

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, GROUP, INCLUDE, print_json
from windtunnel.core.errors import UserError
from windtunnel.core.progress_bar import Bar
from windtunnel.report.leaderboard import leaderboard_csv, leaderboard_document, leaderboard_markdown
from windtunnel.runs import load_run

PAGE = "windtunnel-leaderboard.html"


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("--out", metavar="FILE.html", default=PAGE, show_default=True, help="The page to write.")
@GROUP
@INCLUDE
@AS_JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print every score as CSV.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the table as Markdown.")
def command(
    runs: tuple[str, ...], out: str, group: str | None, as_json: bool, as_csv: bool, as_markdown: bool
) -> None:
    """Write one page with the scores of finished RUN folders: a row per model, columns per suite.

    The page works offline, sorts by any column and links the runs' reports. Runs of a suite with other
    images, another seed, other conditions or other competing classes than most are marked as not comparable.

    \b
    Example:
      windtunnel leaderboard windtunnel-runs/* --out leaderboard.html
    """
    if as_json + as_csv + as_markdown > 1:
        raise UserError("--json, --csv and --markdown exclude each other; give one.")
    printed = as_json or as_csv or as_markdown
    file = None if printed else api.check_html(out)
    for folder in runs:
        api.refuse_unfinished(folder)
    with Bar(Console(stderr=True), "scoring", unit="run") as bar:
        board = api.leaderboard([load_run(run, group=group) for run in runs], progress=bar)
    if as_json:
        print_json(leaderboard_document(board))
    elif as_csv:
        click.echo(leaderboard_csv(board), nl=False)
    elif as_markdown:
        click.echo(leaderboard_markdown(board), nl=False)
    elif file:
        click.echo(str(api.write_leaderboard(board, file)))
