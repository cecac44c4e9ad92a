"""windtunnel dev: for people who add units."""

from __future__ import annotations

from pathlib import Path

import click

from windtunnel.cli.options import INCLUDE
from windtunnel.corruptions import REGISTRY
from windtunnel.report.gallery import write_gallery
from windtunnel.sequences import REGISTRY as SEQUENCES
from windtunnel.suites.golden_digests import golden_digest
from windtunnel.suites.units import find_unit, unit_names


@click.group()
def command() -> None:
    """Tools for adding units."""


@command.command("golden", short_help="Print the golden digests of corruptions and sequences.")
@click.argument("units", nargs=-1)
@click.option("--check", is_flag=True, help="Exit 1 where a digest differs from the one in the unit's file.")
@INCLUDE
def golden(units: tuple[str, ...], check: bool) -> None:
    """Print the golden digest of UNITS (default: all) for their files; raise `revision` when it changes.

    Sequences carry seq/ before their names.
    """
    changed = 0
    for name in units or unit_names():
        unit = find_unit(name)
        digest = golden_digest(unit)
        changed += digest != unit.golden
        verdict = (
            "as in the file" if digest == unit.golden else "DIFFERS from the file" if unit.golden else "new"
        )
        click.echo(f'{name}  golden="{digest}"  {verdict}')
    if check and changed:
        raise SystemExit(1)


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
    """Write the gallery: a page with every corruption at every severity, and every sequence's frames."""
    corruptions = [REGISTRY.get(name) for name in REGISTRY.names()]
    clips = [SEQUENCES.get(name) for name in SEQUENCES.names()]
    written = write_gallery(corruptions, out, clips)
    size = sum(path.stat().st_size for path in written)
    click.echo(f"{written[0]}  {len(corruptions)} corruptions, {len(clips)} sequences, {size / 1e6:.1f} MB")
