"""windtunnel plan: what a run would do, without doing it."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, folder_for, plan_options, print_json
from windtunnel.cli.run import plan_with_progress
from windtunnel.cli.summary import plan_lines, print_lines, unlabelled_images
from windtunnel.core.registry import included_files
from windtunnel.engine.local_executor import expected_time, finished_predictions, usable_workers


@click.command()
@plan_options
@AS_JSON
def command(as_json: bool, out: str | None, **options: Any) -> None:
    """Count the work of a run on MODEL over DATA: how much is done already, how long the rest will take.

    The time is an estimate: a few images are made and predicted, which takes a few seconds.
    """
    plan = plan_with_progress(Console(stderr=True), **options)
    folder = folder_for(out, plan.default_folder())
    done = finished_predictions(plan, folder)
    workers = usable_workers(plan)
    source = api.model_source(options["model"], options["preprocess"], plan)
    with redirect_stdout(sys.stderr):
        time = expected_time(plan, folder, workers, source, included_files())
    if as_json:
        print_json(
            {
                "images": len(plan.surveyed),
                "unreadable": sum(one.status != "ok" for one in plan.surveyed),
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
