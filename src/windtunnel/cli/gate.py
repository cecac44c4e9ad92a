"""windtunnel gate: exit with 1 if a run is worse than a baseline run by more than the rules allow."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, GROUP, INCLUDE, print_json
from windtunnel.cli.printing import print_table
from windtunnel.report.change_summary import code_quality_json
from windtunnel.report.gate_outcome import (
    HEADER,
    INTERVALS,
    OUTCOMES,
    check_cells,
    full_verdict,
    gate_annotations,
    gate_junit,
    undecided_sentences,
)
from windtunnel.runs import load_run

EXIT_WORSE = 1
STYLES = {"passed": "bold green", "undecided": "bold yellow", "failed": "bold red"}


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--against", required=True, metavar="BASE", help="The baseline run folder.")
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="'[each] [CONDITION] METRIC <= +POINTS'",
    help="A rule; may be repeated. Default: mean_error <= +1 (sequences: mfp <= +1) and clean error <= +2; "
    "detectors: mpc >= -1 and clean ap >= -2; natural sets: each part's error <= +2, and pm-k or "
    "msp aupr >= -2.",
)
@click.option(
    "--unsure",
    type=click.Choice(["pass", "fail"]),
    default="pass",
    show_default=True,
    help="Whether undecided rules exit with 0 (pass) or 1 (fail).",
)
@GROUP
@INCLUDE
@AS_JSON
@click.option("--markdown", metavar="FILE", help="Write the outcome and the changed scores as Markdown.")
@click.option("--junit", metavar="FILE", help="Write JUnit XML.")
@click.option("--code-quality", metavar="FILE", help="Write GitLab's code-quality JSON.")
@click.option("--github", is_flag=True, help="Also print GitHub annotations.")
@click.option("--summary", is_flag=True, help="Append the Markdown to the summary of the GitHub job.")
@click.option(
    "--comment",
    is_flag=True,
    help="Create or update a comment on the pull request of the GitHub job, with GITHUB_TOKEN.",
)
@click.option(
    "--comment-name",
    default=api.COMMENT_NAME,
    show_default=True,
    metavar="NAME",
    help="Several gates of a pull request have a comment each if their names differ.",
)
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
    code_quality: str | None,
    github: bool,
    summary: bool,
    comment: bool,
    comment_name: str,
) -> None:
    """Exit with 1 if RUN is worse than BASE by more than the rules allow, compared image by image.

    A rule contains a score and the percentage points by which it may change. A pattern of conditions is one
    test of their mean, or with `each` one test per condition. All rules on errors together raise a false
    alarm at most 5 % of the time.

    \b
    Example:
      windtunnel gate new-run --against old-run --rule 'mce <= +1.0' --rule 'fog:* error <= +3'
    """
    api.check_github(summary, comment_name)
    new, base = (load_run(folder, group=group) for folder in (run, against))
    gate = api.gate(new, base, rules, unsure=unsure)
    if junit:
        Path(junit).write_text(gate_junit(gate), encoding="utf-8")
    if code_quality:
        Path(code_quality).write_text(code_quality_json(gate), encoding="utf-8")
    if as_json:
        print_json(gate.to_json())
    else:
        print_gate(Console(), gate)
    if github:
        for line in gate_annotations(gate):
            click.echo(line, err=as_json)
    if markdown or summary or comment:
        text = api.summarise_change(gate, new, base)
        if markdown:
            Path(markdown).write_text(text, encoding="utf-8")
        if summary:
            api.write_job_summary(text)
        if comment:
            posted = api.comment_on_pull_request(text, comment_name)
            click.echo(f"comment  {posted.done}: {posted.note}", err=True)
    context.exit(EXIT_WORSE if gate.failed else 0)


def print_gate(console: Console, gate: api.Gate) -> None:
    """Print the rules, the outcome of each, and the verdict."""
    print_table(console, HEADER, [check_cells(check) for check in gate.checks])
    console.print(INTERVALS, markup=False, highlight=False, soft_wrap=True)
    for text in undecided_sentences(gate):
        console.print(OUTCOMES["unsure"], style="bold yellow", highlight=False, end="  ")
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    for text in gate.warnings:
        console.print(f"warning  {text}", markup=False, highlight=False, soft_wrap=True)
    style = "bold yellow" if gate.implausible and gate.verdict == "passed" else STYLES[gate.verdict]
    console.print(full_verdict(gate), style=style, markup=False, highlight=False, soft_wrap=True)
