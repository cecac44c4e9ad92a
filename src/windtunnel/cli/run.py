"""windtunnel run: a model and images in, predictions, scores and a report out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, asked_run, print_json, run_options
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
    help="Add saliency maps for the misclassified images shown in the report (a minute or two).",
)
@AS_JSON
@click.pass_context
def command(context: click.Context, /, explain: bool, as_json: bool, **given: Any) -> None:
    """Run a suite on MODEL (an .onnx file, module:factory, file.py:factory or demo) over DATA.

    Several models share the images, which are made once; each model has a run folder of its own.

    DATA is a folder with one folder per class, a CSV, TSV or JSONL table, a zip or tar, an .npy or .npz
    file, or demo. The same command continues a run that was stopped. Instead of MODEL and DATA, one TOML file
    may describe the run; options override it.

    \b
    Examples:
      windtunnel run resnet50.onnx ./val --workers 2
      windtunnel run before.onnx after.onnx ./val --out runs
      windtunnel run run.toml --seed 3
    """
    console = Console(stderr=True)
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
    """Plan and execute, showing what is done and how long it will take."""
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
    # Output that a model prints must not end up in what is piped.
    with Bar(console, "running") as bar, redirect_stdout(sys.stderr):
        return prepared.execute(workers, bar, lambda time: print_lines(console, [("time", str(time))]))


def plan_with_progress(console: Console, asked: RunFile) -> api.PreparedRuns:
    """Make a plan while showing how many images are surveyed."""
    with Bar(console, "looking at the images") as bar, redirect_stdout(sys.stderr):
        return api.prepare(asked.models, asked.data, asked.suite, asked.options, bar, all_workers=True)


def finish(
    console: Console,
    runs: Sequence[Run],
    *,
    as_json: bool,
    explain: Sequence[str] | None = None,
    preprocess: str | Path | None = None,
) -> None:
    """Write the reports and print the headline of each run, or JSON: a list if there are several runs."""
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
