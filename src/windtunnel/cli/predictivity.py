"""windtunnel predictivity: whether benchmarks predict natural shifts."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json, record_options
from windtunnel.cli.printing import print_lines, print_table
from windtunnel.core.errors import UserError
from windtunnel.options import PredictivityOptions
from windtunnel.report.predictivity_text import (
    group_fact_rows,
    group_rows,
    pair_header,
    pair_rows,
    predictivity_csv,
    summary_lines,
)


@click.command()
@click.argument("tables", metavar="TABLE...", nargs=-1, required=True)
@record_options(PredictivityOptions)
@AS_JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print every correlation as CSV.")
def command(tables: tuple[str, ...], as_json: bool, as_csv: bool, **options: Any) -> None:
    """Test whether accuracy drops on benchmarks predict those on natural sets, over many models.

    TABLE is a run folder, a CSV file with a line per model and a column per setting, a folder of timm's
    results, or a table of open_clip or RobustBench. Several are joined by the models' names. Without
    benchmarks, natural sets predict each other, and so do the corruptions of one table; the last of several
    tables of corruptions is the one to be predicted.

    Every correlation is printed with what clean accuracy alone explains of it.

    \b
    Examples:
      windtunnel predictivity timm-results
      windtunnel predictivity accuracies.csv --synthetic imagenet-c --natural imagenet-a,imagenet-r
      windtunnel predictivity runs/* --synthetic generated.csv --out report.html
    """
    if as_json and as_csv:
        raise UserError("--json and --csv exclude each other; give one.")
    found = api.predictivity(*tables, options=PredictivityOptions(**options))
    if as_json:
        print_json(found.to_json())
    elif as_csv:
        click.echo(predictivity_csv(found), nl=False)
    else:
        _print(Console(), found)
    if options["out"]:
        click.echo(options["out"], err=as_json or as_csv)


def _print(console: Console, found: api.Predictivity) -> None:
    print_lines(console, summary_lines(found))
    if found.pairs:
        print_table(console, pair_header(found.pairs), pair_rows(found.pairs))
    targets = [target.name for target in found.question.targets]
    for table in found.groups:
        print_table(console, *group_rows(table, targets))
        print_table(console, *group_fact_rows(table))
    if found.notes:
        print_lines(console, [("note", note) for note in found.notes])
