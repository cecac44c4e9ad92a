"""windtunnel show: write sample images of a corruption or sequence."""

from __future__ import annotations

from typing import Any

import click

from windtunnel import api
from windtunnel.cli.options import record_options
from windtunnel.options import ShowOptions


@click.command()
@click.argument("unit")
@click.option("--out", metavar="FILE.png", help="The PNG file; default: <unit>.png here.")
@record_options(ShowOptions)
def command(unit: str, out: str | None, **options: Any) -> None:
    """Write sample images of UNIT, a corruption or a sequence.

    For a corruption (fog): a PNG file with the clean image and the five severities, or five random draws of
    a corruption with one strength (s2n/random_fog). For a sequence (seq/tilt): a PNG file with a strip of
    frames, and an animated WebP file with all of them.
    """
    for path in api.show(unit, out, ShowOptions(**options)):
        click.echo(str(path))
