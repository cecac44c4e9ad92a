"""windtunnel log: log finished runs to experiment trackers and files of model cards."""

from __future__ import annotations

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import GROUP, INCLUDE
from windtunnel.core.progress_bar import Bar
from windtunnel.runs import load_run


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--to",
    required=True,
    metavar="DESTINATION",
    help="mlflow, wandb, model-index, eval-results or another; `windtunnel list destinations`.",
)
@click.option(
    "--upload",
    is_flag=True,
    help="Send the results over the network. Without it nothing leaves this machine.",
)
@GROUP
@INCLUDE
def command(runs: tuple[str, ...], to: str, upload: bool, group: str | None) -> None:
    """Log runs to an experiment tracker or a model card.

    \b
    Examples:
      windtunnel log windtunnel-runs/new --to mlflow
      windtunnel log windtunnel-runs/new --to 'wandb(project=nets)' --upload
      windtunnel log windtunnel-runs/new --to 'model-index(dataset=imagenet-1k)'
    """
    with Bar(Console(stderr=True), "scoring", unit="run") as bar:
        places = api.log_runs([load_run(run, group=group) for run in runs], to, upload=upload, progress=bar)
    for place in places:
        click.echo(place)
