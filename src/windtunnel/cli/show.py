"""windtunnel show: a corruption's severities on a sheet, a sequence's frames as a strip and an animation."""

from __future__ import annotations

from pathlib import Path

import click
from PIL import Image as PillowImage

from windtunnel.cli.options import INCLUDE
from windtunnel.core.errors import UserError
from windtunnel.core.images import Image
from windtunnel.corruptions import EDITIONS
from windtunnel.report.sheet import animation, contact_sheet, frame_strip, sequence_frames
from windtunnel.sequences import Perturbation
from windtunnel.store.files import write_whole
from windtunnel.suites.units import find_unit


@click.command()
@click.argument("unit")
@click.option("--image", metavar="FILE", help="Your own image; by default one drawn for this purpose.")
@click.option("--out", metavar="FILE.png", help="Where to write; default <unit>.png.")
@click.option("--seed", default=0, show_default=True, help="Seed of the random draws.")
@click.option(
    "--edition", type=click.Choice([str(edition) for edition in EDITIONS]), default="224", show_default=True
)
@click.option("--difficulty", type=int, help="1, 2 or 3: how strong the noise of a noise sequence is.")
@INCLUDE
def command(
    unit: str,
    image: str | None,
    out: str | None,
    seed: int,
    edition: str,
    difficulty: int | None,
) -> None:
    """Write images of what UNIT does.

    Of a corruption (fog): a PNG with its five severities beside the untouched image. Of a sequence
    (seq/tilt): a PNG with a strip of frames, and beside it all of them as an animated WebP.
    """
    found = find_unit(unit)
    target = Path(out or f"{found.name}.png")
    if target.suffix.lower() != ".png":
        raise UserError(f"--out is {target}; give a file ending in .png.")
    if not target.parent.is_dir():
        raise UserError(f"--out is {target}; there is no folder {target.parent}.")
    file = Path(image) if image else None
    if isinstance(found, Perturbation):
        level = found.difficulties[0] if difficulty is None else difficulty
        found.check_difficulty(level)
        frames = sequence_frames(found, file, seed, int(edition), level)
        _write(target, frame_strip(frames))
        moving = target.with_suffix(".webp")
        write_whole(moving, animation(frames))
        click.echo(f"{target}\n{moving}")
        return
    if difficulty is not None:
        raise UserError(f"--difficulty is for sequences; {found.name} is a corruption and has severities.")
    _write(target, contact_sheet(found, file, seed, int(edition)))
    click.echo(str(target))


def _write(target: Path, image: Image) -> None:
    PillowImage.fromarray(image).save(target)
