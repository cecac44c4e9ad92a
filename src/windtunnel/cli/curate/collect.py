"""windtunnel curate collect: candidates from a table of URLs and files, or from a folder."""

from __future__ import annotations

import shlex
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, LOG, print_json, record_options
from windtunnel.cli.printing import print_lines
from windtunnel.core.progress_bar import Bar
from windtunnel.options.collect import CollectOptions


@click.command("collect", short_help="Collect candidates from a table of URLs or files, or a folder.")
@click.argument("table", metavar="TABLE|FOLDER")
@click.option("--project", required=True, help="The project's folder; it is created if there is none.")
@record_options(CollectOptions)
@AS_JSON
@LOG
def command(table: str, project: str, as_json: bool, console: Console, **options: Any) -> None:
    """Store the images of TABLE or FOLDER in a project, with a row for every candidate.

    TABLE is a CSV file with a column url or file, and optionally tag, label, licence and source. FOLDER has
    one folder per class; other datasets are read too. Only http and https URLs of public hosts are
    requested. Labels are weak until a person confirms them. The same command continues after a stop.

    \b
    Examples:
      windtunnel curate collect urls.csv --project birds --classes tags.csv
      windtunnel curate collect ./downloaded --project birds --licence CC-BY-4.0
    """
    with Bar(console, "collecting candidates") as bar:
        step = api.collect_candidates(table, project, CollectOptions(**options), progress=bar)
    if as_json:
        print_json({"step": step.step, **step.summary.to_json()})
        return
    statuses = ", ".join(f"{name} {count:,}" for name, count in step.summary.statuses.items())
    print_lines(
        Console(),
        [
            (
                "collected",
                f"{step.summary.stored:,} of {step.summary.rows:,} candidates into {project}",
            ),
            ("statuses", statuses),
            ("next", shlex.join(["windtunnel", "curate", "status", project])),
        ],
    )
