"""windtunnel warmup: compile all corruptions and sequences ahead of time."""

from __future__ import annotations

import click
from rich.console import Console

from windtunnel import api
from windtunnel.core.progress_bar import Bar


@click.command()
def command() -> None:
    """Compile and cache all corruptions and sequences (once after installation; takes some seconds)."""
    with Bar(Console(stderr=True), "compiling") as bar:
        compiled = api.warmup(progress=bar)
    click.echo(
        f"{compiled.corruptions} corruptions and {compiled.sequences} sequences ready in "
        f"{compiled.seconds:.1f} s"
    )
