"""windtunnel run: a model and images in, predictions, scores and a report out."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, folder_for, plan_options, print_json
from windtunnel.cli.report import explained_reports
from windtunnel.cli.summary import plan_lines, print_lines, score_lines
from windtunnel.core.progress import Bar
from windtunnel.core.registry import included_files
from windtunnel.engine.local_executor import execute, finished_predictions, mended_count, usable_workers
from windtunnel.engine.plan import Plan
from windtunnel.metrics.score import score_run
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.tables import run_document
from windtunnel.store.folder import RunFolder


@click.command()
@plan_options
@click.option(
    "--workers", type=click.IntRange(min=1), help="Worker processes; by default one per processor core."
)
@click.option("--strict", is_flag=True, help="Stop at the first image that cannot be scored.")
@click.option(
    "--explain",
    is_flag=True,
    help="Draw into the report what the wrong answers of shown images hang on; a minute or two.",
)
@AS_JSON
def command(
    workers: int | None, strict: bool, explain: bool, as_json: bool, out: str | None, **options: Any
) -> None:
    """Run a suite on MODEL (an .onnx file, module:factory, file.py:factory or demo) over DATA.

    DATA is a folder with one folder per class, a CSV, TSV or JSONL table, a zip or tar, an .npy or .npz
    file, or demo. The same command continues a run that was stopped.

    \b
    Example:
      windtunnel run resnet50.onnx ./val --workers 2
    """
    console = Console(stderr=True)
    run = run_with_progress(console, out=out, workers=workers, strict=strict, **options)
    finish(
        console,
        run,
        explain=options["model"] if explain else None,
        preprocess=options["preprocess"],
        as_json=as_json,
    )


def run_with_progress(
    console: Console, *, out: str | None, workers: int | None, strict: bool, **options: Any
) -> ScoredRun:
    """Plan and execute, showing what is done and how long it will take."""
    if out is not None:
        RunFolder(Path(out)).check_free()
    plan = plan_with_progress(console, **options)
    folder = folder_for(out, plan.default_folder())
    done = finished_predictions(plan, folder)
    count = usable_workers(plan, workers)
    print_lines(console, plan_lines(plan, folder, count, done))
    if mended := mended_count(plan, folder):
        print_lines(console, [("note", f"Images that failed and can be read now, scored again: {mended:,}.")])
    # A model that prints must not spoil what is piped.
    with Bar(console, "running", plan.predictions) as bar, redirect_stdout(sys.stderr):
        finished = execute(
            plan,
            folder,
            workers=count,
            source=api.model_source(options["model"], options["preprocess"], plan),
            includes=included_files(),
            strict=strict,
            advance=bar.advance,
            expect=lambda time: print_lines(console, [("time", str(time))]),
        )
    return ScoredRun(finished)


def plan_with_progress(console: Console, **options: Any) -> Plan:
    """Make a plan while showing that the images are being looked at."""
    with Bar(console, "looking at the images") as bar, redirect_stdout(sys.stderr):
        return api.plan(**options, advance=bar.look)


def finish(
    console: Console,
    run: ScoredRun,
    *,
    as_json: bool,
    explain: str | None = None,
    preprocess: str | None = None,
) -> None:
    """Write the reports and print the headline."""
    scores = score_run(run)
    written = explained_reports(console, run, scores, explain, preprocess)
    if as_json:
        print_json(run_document(run, scores))
    out = console if as_json else Console()
    print_lines(out, [*score_lines(run, scores), ("report", str(written.html))])
