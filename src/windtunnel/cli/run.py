"""windtunnel run: run a suite on a model and write scores and a report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, LOG, asked_run, print_json, run_options
from windtunnel.cli.printing import print_lines
from windtunnel.cli.report import explained_reports
from windtunnel.core.progress_bar import Bar
from windtunnel.core.wording import counted
from windtunnel.options import RunFile
from windtunnel.report.plan_summary import plan_lines
from windtunnel.report.score_summary import score_lines
from windtunnel.report.tables import run_document
from windtunnel.runs import Run


@click.command()
@run_options()
@click.option(
    "--explain",
    is_flag=True,
    help="Add saliency maps for the misclassified images shown in the report (slow).",
)
@AS_JSON
@LOG
@click.pass_context
def command(context: click.Context, /, explain: bool, as_json: bool, console: Console, **given: Any) -> None:
    """Run a suite on MODEL over DATA.

    MODEL is an ONNX file, a Python factory (FILE.py:factory) or another form that `windtunnel list
    model-kinds` lists. Several models share the images, which are made once. Each model has its own run
    folder.

    DATA is a folder with one folder per class, or another form that `windtunnel list layouts` lists. The
    same command continues a stopped run. Instead of MODEL and DATA, a TOML file may
    describe the run; options override it.

    \b
    Examples:
      windtunnel run resnet50.onnx ./val --workers 2
      windtunnel run before.onnx after.onnx ./val --out runs
      windtunnel run run.toml --seed 3
    """
    asked = asked_run(context, **given)
    runs = run_with_progress(console, asked)
    finish(
        console,
        runs,
        explain=asked.models if explain else None,
        preprocess=asked.options.preprocess,
        as_json=as_json,
    )


def run_with_progress(console: Console, asked: RunFile) -> tuple[Run, ...]:
    """Plan and execute runs with a progress bar and the expected time."""
    if asked.options.out is not None and len(asked.models) == 1:
        api.check_free(asked.options.out)
    prepared = plan_with_progress(console, asked)
    workers = prepared.workers
    for run in prepared.runs:
        print_lines(console, plan_lines(run.plan, run.folder, workers, run.finished_predictions()))
        if count := run.repaired_count():
            images = counted(count, "image")
            print_lines(
                console, [("note", f"{images} that failed earlier can be read now and will be scored again.")]
            )
    # Text that a model prints must not be mixed with the output of the command.
    with Bar(console, "running") as bar, redirect_stdout(sys.stderr):
        return prepared.execute(workers, bar, lambda time: print_lines(console, [("time", str(time))]))


def plan_with_progress(console: Console, asked: RunFile) -> api.PreparedRuns:
    """Plan runs with a progress bar of the images that are read."""
    with Bar(console, "reading image headers") as bar, redirect_stdout(sys.stderr):
        return api.prepare(asked.models, asked.data, asked.suite, asked.options, bar, all_workers=True)


def finish(
    console: Console,
    runs: Sequence[Run],
    *,
    as_json: bool,
    explain: Sequence[str] | None = None,
    preprocess: str | Path | None = None,
) -> None:
    """Write the reports and print the headline scores of each run, or JSON (a list for several runs)."""
    out = console if as_json else Console()
    documents = []
    for number, run in enumerate(runs):
        scores = run.scores()
        written = explained_reports(console, run, scores, explain[number] if explain else None, preprocess)
        if as_json:
            documents.append(run_document(run.scoring, scores))
        if len(runs) > 1:
            print_lines(out, [("model", run.info.model.name)])
        print_lines(out, [*score_lines(run.scoring, scores), ("report", str(written.html))])
    if as_json:
        print_json(documents[0] if len(runs) == 1 else documents)
