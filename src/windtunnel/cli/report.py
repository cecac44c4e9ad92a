"""windtunnel report: write a run's report and tables again, or print them."""

from __future__ import annotations

import click

from windtunnel.cli.options import AS_JSON, print_json
from windtunnel.errors import UserError
from windtunnel.report.files import write_reports
from windtunnel.report.tables import run_document, scores_csv
from windtunnel.store.run import load_run


@click.command()
@click.argument("run_folder", metavar="RUN")
@click.option(
    "--baseline", metavar="RUN", help="A run on the same pictures to divide CE, mCE and relative mCE by."
)
@AS_JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print the scores as CSV.")
def command(run_folder: str, baseline: str | None, as_json: bool, as_csv: bool) -> None:
    """Write report.html, scores.json and scores.csv of a finished RUN folder; nothing is predicted."""
    if as_json and as_csv:
        raise UserError("--json and --csv exclude each other; give one.")
    run = load_run(run_folder, baseline=baseline)
    scores = run.scores()
    if as_json:
        print_json(run_document(run, scores))
    elif as_csv:
        click.echo(scores_csv(scores), nl=False)
    else:
        click.echo(str(write_reports(run, scores).html))
