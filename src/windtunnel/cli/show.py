"""windtunnel show: a contact sheet of a corruption's severities."""

from __future__ import annotations

from pathlib import Path

import click
from PIL import Image as PillowImage

from windtunnel.cli.options import INCLUDE
from windtunnel.corruptions import EDITIONS, REGISTRY, include_units
from windtunnel.errors import UserError
from windtunnel.report.sheet import contact_sheet


@click.command()
@click.argument("unit")
@click.option("--image", metavar="FILE", help="Your own picture; by default one drawn for this purpose.")
@click.option("--out", metavar="FILE.png", help="Where to write; default <unit>.png.")
@click.option("--seed", default=0, show_default=True, help="Seed of the random draws.")
@click.option(
    "--edition", type=click.Choice([str(edition) for edition in EDITIONS]), default="224", show_default=True
)
@INCLUDE
def command(
    unit: str, image: str | None, out: str | None, seed: int, edition: str, include: tuple[str, ...]
) -> None:
    """Write a PNG with UNIT's five severities beside the untouched picture."""
    include_units(map(Path, include))
    corruption = REGISTRY.get(unit)
    sheet = contact_sheet(corruption, Path(image) if image else None, seed, int(edition))
    target = Path(out or f"{unit}.png")
    if target.suffix.lower() != ".png":
        raise UserError(f"--out is {target}; give a file ending in .png.")
    PillowImage.fromarray(sheet).save(target)
    click.echo(str(target))
