"""windtunnel plan: show how much work a run is, without running it."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import Any

import click
from rich.console import Console

from windtunnel.cli.options import AS_JSON, asked_run, print_json, run_options
from windtunnel.cli.printing import print_lines
from windtunnel.cli.run import plan_with_progress
from windtunnel.options.run import EXECUTION
from windtunnel.report.plan_summary import plan_lines, unlabelled_images


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
    plan, folder, workers, done = prepared.plan, prepared.folder, prepared.workers, prepared.done
    with redirect_stdout(sys.stderr):
        time = prepared.expected_time()
    if as_json:
        print_json(
            {
                "images": len(plan.surveyed),
                "unreadable": sum(image.status != "ok" for image in plan.surveyed),
                "unlabelled": unlabelled_images(plan),
                "conditions": [condition.name for condition in plan.conditions],
                "missing": plan.info.missing,
                "remarks": plan.info.remarks,
                "predictions": plan.predictions,
                "done": done,
                "shards": len(plan.chunks),
                "workers": workers,
                "expected_seconds": time.seconds if time else None,
                "folder": str(folder),
                "recipe": plan.recipe.to_json(),
            }
        )
        return
    print_lines(Console(), plan_lines(plan, folder, workers, done, time))
