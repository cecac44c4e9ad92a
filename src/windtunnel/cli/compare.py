"""windtunnel compare: compare finished runs with the first one."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, GROUP, INCLUDE, print_json
from windtunnel.cli.printing import print_lines, print_table
from windtunnel.core.errors import UserError
from windtunnel.report.comparison import (
    changed_columns,
    changed_rows,
    comparison_csv,
    comparison_document,
    family_rows,
    family_title,
    flips_csv,
    headline_rows,
    run_names,
    summary_lines,
)
from windtunnel.runs import load_run

CHANGED_SHOWN = 20


@click.command()
@click.argument("runs", metavar="BASE RUN [RUN]...", nargs=-1)
@GROUP
@INCLUDE
@AS_JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print every difference as CSV.")
@click.option("--flips", metavar="FILE.csv", help="Write every image that flipped to a CSV file.")
def command(runs: tuple[str, ...], group: str | None, as_json: bool, as_csv: bool, flips: str | None) -> None:
    """Compare finished run folders with the first one, image by image.

    Differences are RUN - BASE in percentage points, with 95 % confidence intervals over images. A condition
    has changed if its p-value is at most 5 % after Holm's adjustment over the conditions of one metric and
    one run. Metrics and runs are not adjusted for each other. Runs with different seeds, or with less than
    90 % of images in common, are compared without pairing, and a line states it.

    \b
    Example:
      windtunnel compare windtunnel-runs/old windtunnel-runs/new
    """
    if as_json and as_csv:
        raise UserError("--json and --csv exclude each other; give one.")
    comparison = api.compare(*(load_run(run, group=group) for run in runs))
    if flips:
        if comparison.unpaired_because:
            raise UserError(
                f"--flips needs the same images in all runs: {comparison.unpaired_because}. Leave it out, or "
                "give runs on the same images."
            )
        Path(flips).write_text(flips_csv(comparison), encoding="utf-8")
    if as_json:
        print_json(comparison_document(comparison))
    elif as_csv:
        click.echo(comparison_csv(comparison), nl=False)
    else:
        print_comparison(Console(), comparison)


def print_comparison(console: Console, comparison: api.Comparison) -> None:
    """Print the summary, the headline scores and the changed conditions."""
    names = run_names(comparison)
    print_lines(console, summary_lines(comparison))
    header = ["", *names, *(f"{name} - {names[0]}" for name in names[1:])]
    print_table(console, header, headline_rows(comparison))
    if families := family_rows(comparison):
        print_table(console, [f"family, {family_title(comparison)}", *header[1:]], families)
    for other in range(1, len(names)):
        rows = changed_rows(comparison, other)
        if rows:
            print_table(console, changed_columns(comparison, other), rows[:CHANGED_SHOWN])
            if len(rows) > CHANGED_SHOWN:
                console.print(f"and {len(rows) - CHANGED_SHOWN} more (--csv)")
