"""windtunnel demo: run the model and data that are part of the package."""

from __future__ import annotations

import os

import click
from rich.console import Console

from windtunnel.cli.options import AS_JSON
from windtunnel.cli.run import finish, run_with_progress
from windtunnel.options import RunFile, RunOptions


@click.command()
@click.option("--out", metavar="FOLDER", help="The run folder; default: windtunnel-runs/<names>-<recipe>.")
@click.option("--workers", type=click.IntRange(min=1), default=os.cpu_count() or 1, help="Worker processes.")
@AS_JSON
def command(out: str | None, workers: int, as_json: bool) -> None:
    """Run a small network on 599 scanned digits and write a report; nothing is downloaded."""
    console = Console(stderr=True)
    runs = run_with_progress(
        console, RunFile(("demo",), "demo", "demo", RunOptions(out=out, workers=workers))
    )
    finish(console, runs, as_json=as_json)
