"""windtunnel dev: tools for adding corruptions and sequences."""

from __future__ import annotations

from pathlib import Path

import click

from windtunnel import api
from windtunnel.cli.options import INCLUDE

EXIT_CHANGED = 1


@click.group()
def command() -> None:
    """Tools for adding corruptions and sequences."""


@command.command("golden", short_help="Print the golden digests of corruptions and sequences.")
@click.argument("units", nargs=-1)
@click.option("--check", is_flag=True, help="Exit 1 if a digest differs from the one in the unit's file.")
@INCLUDE
def golden(units: tuple[str, ...], check: bool) -> None:
    """Print the golden digests of UNITS (default: all), to be declared in their files.

    Raise `revision` when a digest changes. Names of sequences begin with seq/.
    """
    changed = False
    for golden_digest in api.golden_digests(units):
        changed |= golden_digest.changed
        click.echo(f'{golden_digest.name}  golden="{golden_digest.digest}"  {_state(golden_digest)}')
    if check and changed:
        raise SystemExit(EXIT_CHANGED)


def _state(golden_digest: api.GoldenDigest) -> str:
    if not golden_digest.changed:
        return "as in the file"
    return "DIFFERS from the file" if golden_digest.declared else "new"


@command.command("gallery", short_help="Write a page with every corruption at every severity.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="docs",
    show_default=True,
    help="The folder for gallery.md and its strips.",
)
@INCLUDE
def gallery(out: Path) -> None:
    """Write the gallery: a page with every corruption at every severity, and frames of every sequence."""
    written = api.make_gallery(out)
    click.echo(
        f"{written.files[0]}  {written.corruptions} corruptions, {written.sequences} sequences, "
        f"{written.size_bytes / 1e6:.1f} MB"
    )
