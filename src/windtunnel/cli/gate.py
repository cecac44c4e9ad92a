"""windtunnel gate: exit 1 when a run is worse than a stored one by more than the rules allow."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, GROUP, INCLUDE, print_json
from windtunnel.cli.printing import print_table
from windtunnel.report.gate_outcome import (
    HEADER,
    INTERVALS,
    OUTCOMES,
    check_cells,
    full_verdict,
    gate_annotations,
    gate_junit,
    gate_markdown,
    undecided_sentences,
)
from windtunnel.runs import load_run

EXIT_WORSE = 1
STYLES = {"passed": "bold green", "undecided": "bold yellow", "failed": "bold red"}


@click.command()
@click.argument("run", metavar="RUN")
@click.option(
    "--against", required=True, metavar="BASE", help="The run folder that RUN must not be worse than."
)
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="'[each] [CONDITION] METRIC <= +POINTS'",
    help="May be repeated; default: mean_error <= +1 (of sequences mfp <= +1) and clean error <= +2; of "
    "natural sets each part's error <= +2, and pm-k or msp aupr >= -2.",
)
@click.option(
    "--unsure",
    type=click.Choice(["pass", "fail"]),
    default="pass",
    show_default=True,
    help="Whether undecided rules leave the exit code at 0 (pass) or make it 1 (fail).",
)
@GROUP
@INCLUDE
@AS_JSON
@click.option("--markdown", metavar="FILE", help="Write a table for a pull request.")
@click.option("--junit", metavar="FILE", help="Write JUnit XML.")
@click.option("--github", is_flag=True, help="Print GitHub annotations too.")
@click.pass_context
def command(
    context: click.Context,
    run: str,
    against: str,
    rules: tuple[str, ...],
    unsure: Literal["pass", "fail"],
    group: str | None,
    as_json: bool,
    markdown: str | None,
    junit: str | None,
    github: bool,
) -> None:
    """Exit 1 when RUN is worse than BASE, image by image, by more than the rules allow.

    A rule names a score and how many percentage points it may change. Without `each` a pattern of conditions
    is one test of their mean, with `each` one test per condition. All rules on errors together raise a
    false alarm at most 5 % of the time.

    \b
    Example:
      windtunnel gate new-run --against old-run --rule 'mce <= +1.0' --rule 'fog:* error <= +3'
    """
    new, base = (load_run(folder, group=group) for folder in (run, against))
    found = api.gate(new, base, rules, unsure=unsure)
    if markdown:
        Path(markdown).write_text(gate_markdown(found), encoding="utf-8")
    if junit:
        Path(junit).write_text(gate_junit(found), encoding="utf-8")
    if as_json:
        print_json(found.to_json())
    else:
        show(Console(), found)
    if github:
        for line in gate_annotations(found):
            click.echo(line, err=as_json)
    context.exit(EXIT_WORSE if found.failed else 0)


def show(console: Console, found: api.Gate) -> None:
    """Print a gate for people."""
    print_table(console, HEADER, [check_cells(check) for check in found.checks])
    console.print(INTERVALS, markup=False, highlight=False, soft_wrap=True)
    for text in undecided_sentences(found):
        console.print(OUTCOMES["unsure"], style="bold yellow", highlight=False, end="  ")
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    for text in found.warnings:
        console.print(f"warning  {text}", markup=False, highlight=False, soft_wrap=True)
    console.print(
        full_verdict(found), style=STYLES[found.verdict], markup=False, highlight=False, soft_wrap=True
    )
