"""windtunnel compare: runs side by side, what changed and how surely."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from windtunnel.analysis.comparison import Comparison, compare
from windtunnel.cli.options import AS_JSON, GROUP, INCLUDE, print_json
from windtunnel.cli.summary import print_lines, print_table
from windtunnel.core.errors import UserError
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.comparison import (
    changed_columns,
    changed_rows,
    comparison_csv,
    comparison_document,
    flips_csv,
    headline_rows,
    run_names,
    summary_lines,
)

CHANGED_SHOWN = 20


@click.command()
@click.argument("runs", metavar="BASE RUN [RUN]...", nargs=-1)
@GROUP
@INCLUDE
@AS_JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print every difference as CSV.")
@click.option("--flips", metavar="FILE.csv", help="Write every image that flipped to a CSV file.")
def command(runs: tuple[str, ...], group: str | None, as_json: bool, as_csv: bool, flips: str | None) -> None:
    """Compare finished run folders with the first of them, image by image.

    Differences are RUN - BASE in percentage points with 95 % intervals, the image being the unit;
    conditions that changed are those whose p is at most 5 % after Holm's adjustment over the conditions of
    one metric and one run; several metrics or runs are not adjusted for each other. Runs with other seeds, or
    with under 90 % of images in common, are compared without pairs, and that is said.

    \b
    Example:
      windtunnel compare windtunnel-runs/old windtunnel-runs/new
    """
    if as_json and as_csv:
        raise UserError("--json and --csv exclude each other; give one.")
    found = compare(*(ScoredRun(run).scored_as(group=group) for run in runs))
    if flips:
        if found.unpaired_because:
            raise UserError(f"--flips needs the same images: {found.unpaired_because}.")
        Path(flips).write_text(flips_csv(found), encoding="utf-8")
    if as_json:
        print_json(comparison_document(found))
    elif as_csv:
        click.echo(comparison_csv(found), nl=False)
    else:
        show(Console(), found)


def show(console: Console, found: Comparison) -> None:
    """Print a comparison for people."""
    names = run_names(found)
    print_lines(console, summary_lines(found))
    print_table(console, ["", *names, *(f"{name} - {names[0]}" for name in names[1:])], headline_rows(found))
    for other in range(1, len(names)):
        rows = changed_rows(found, other)
        if rows:
            print_table(console, changed_columns(found, other), rows[:CHANGED_SHOWN])
            if len(rows) > CHANGED_SHOWN:
                console.print(f"and {len(rows) - CHANGED_SHOWN} more (--csv)")
