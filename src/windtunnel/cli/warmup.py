"""windtunnel warmup: compile every kernel now, so that no later command waits for it."""

from __future__ import annotations

import time
from collections import deque

import click
from rich.console import Console

from windtunnel.core.progress import Bar
from windtunnel.corruptions import EDITIONS, REGISTRY, SEVERITIES
from windtunnel.sequences import REGISTRY as SEQUENCES
from windtunnel.suites.golden_digests import golden_image


@click.command()
def command() -> None:
    """Compile and cache every corruption and sequence (some seconds, once after installation)."""
    begin = time.perf_counter()
    corruptions, sequences = REGISTRY.names(), SEQUENCES.names()
    image = golden_image(EDITIONS[0])
    with Bar(Console(stderr=True), "compiling", len(corruptions) + len(sequences)) as bar:
        for name in corruptions:
            unit = REGISTRY.get(name)
            edition = min(unit.severities)
            for severity in SEVERITIES:
                unit.apply(image, unit.draws(0, "", severity), severity, edition)
            bar.advance(1)
        for name in sequences:
            clip = SEQUENCES.get(name)
            for difficulty in clip.difficulties:
                deque(clip.apply(image, clip.draws(0, "", difficulty), difficulty, min(clip.tables)), 0)
            bar.advance(1)
    click.echo(
        f"{len(corruptions)} corruptions and {len(sequences)} sequences ready in "
        f"{time.perf_counter() - begin:.1f} s"
    )
