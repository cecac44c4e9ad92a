"""windtunnel warmup: compile every kernel now, so that no later command waits for it."""

from __future__ import annotations

import time

import click
from rich.console import Console

from windtunnel.cli.present import Bar
from windtunnel.corruptions import EDITIONS, REGISTRY, SEVERITIES
from windtunnel.golden import golden_picture


@click.command()
def command() -> None:
    """Compile and cache every corruption (a few seconds, once after installation)."""
    begin = time.perf_counter()
    names = REGISTRY.names()
    with Bar(Console(stderr=True), "compiling", len(names)) as bar:
        for name in names:
            unit = REGISTRY.get(name)
            picture = golden_picture(EDITIONS[0])
            edition = min(unit.severities)
            for severity in SEVERITIES:
                unit.apply(picture, unit.draws(0, "", severity), severity, edition)
            bar.advance(1)
    click.echo(f"{len(names)} corruptions ready in {time.perf_counter() - begin:.1f} s")
