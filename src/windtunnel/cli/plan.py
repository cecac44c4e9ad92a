"""windtunnel plan: show how much work a run is, without running it."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, asked_run, print_json, run_options
from windtunnel.cli.printing import print_lines
from windtunnel.cli.run import plan_with_progress
from windtunnel.options.run import EXECUTION
from windtunnel.report.plan_summary import (
    largest_half_width,
    plan_lines,
    unlabelled_images,
)


@click.command()
@run_options(*EXECUTION)
@AS_JSON
@click.pass_context
def command(context: click.Context, /, as_json: bool, **given: Any) -> None:
    """Count the predictions of a run of MODEL over DATA, those already done, and the remaining time.

    Instead of MODEL and DATA, a TOML file may describe the run; options override it. The time is an estimate
    from a few images, which takes a few seconds.
    """
    prepared = plan_with_progress(Console(stderr=True), asked_run(context, **given))
    with redirect_stdout(sys.stderr):
        time = prepared.expected_time()
    if as_json:
        documents = [_document(run, prepared.workers, time) for run in prepared.runs]
        print_json(documents[0] if len(documents) == 1 else documents)
        return
    for run in prepared.runs:
        print_lines(
            Console(), plan_lines(run.plan, run.folder, prepared.workers, run.finished_predictions(), time)
        )


def _document(run: api.PlannedRun, workers: int, time: api.Expected | None) -> dict[str, Any]:
    """The plan of one model; the time is that of all models."""
    plan = run.plan
    return {
        "images": len(plan.surveyed),
        "unreadable": sum(image.status != "ok" for image in plan.surveyed),
        "unlabelled": unlabelled_images(plan),
        "conditions": [condition.name for condition in plan.conditions],
        "missing": plan.info.missing,
        "remarks": plan.info.remarks,
        "predictions": plan.predictions,
        "done": run.finished_predictions(),
        "shards": len(plan.chunks),
        "workers": workers,
        "expected_seconds": time.seconds if time else None,
        "storage_bytes": api.storage_bytes(plan),
        "interval_half_width": largest_half_width(plan),
        "folder": str(run.folder),
        "recipe": plan.recipe.to_json(),
    }
