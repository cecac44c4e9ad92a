"""Contact sheets: a unit's severities side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image as PillowImage
from PIL import ImageDraw

from windtunnel.corruptions import SEVERITIES, Corruption
from windtunnel.errors import PictureError, UserError
from windtunnel.golden import golden_picture
from windtunnel.imaging import Image
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.geometry import crop_step, resize_step
from windtunnel.imaging.header import read_header
from windtunnel.suites import GEOMETRIES

CELL_PX = 224
CAPTION_PX = 22
GAP_PX = 6


def contact_sheet(unit: Corruption, file: Path | None, seed: int, edition: int) -> Image:
    """Clean and the five severities in two rows of three, captioned; small editions are enlarged."""
    canvas = _canvas(file, edition)
    pictures = [("clean", canvas)]
    for severity in SEVERITIES:
        rng = unit.draws(seed, file.name if file else "golden", severity)
        pictures.append((f"{unit.name}:{severity}", unit.apply(canvas.copy(), rng, severity, edition)))
    columns, rows = 3, 2
    step_x, step_y = CELL_PX + GAP_PX, CELL_PX + CAPTION_PX + GAP_PX
    sheet = PillowImage.new("RGB", (columns * step_x + GAP_PX, rows * step_y + GAP_PX), "white")
    pen = ImageDraw.Draw(sheet)
    for number, (caption, picture) in enumerate(pictures):
        left = GAP_PX + number % columns * step_x
        top = GAP_PX + number // columns * step_y
        cell = PillowImage.fromarray(picture)
        if cell.size != (CELL_PX, CELL_PX):
            cell = cell.resize(
                (CELL_PX, CELL_PX),
                PillowImage.Resampling.NEAREST if edition < CELL_PX else PillowImage.Resampling.BOX,
            )
        pen.text((left + 2, top + 4), caption, fill="black", font_size=14)
        sheet.paste(cell, (left, top + CAPTION_PX))
    return np.asarray(sheet)


def _canvas(file: Path | None, edition: int) -> Image:
    if file is None:
        return golden_picture(edition)
    if not file.is_file():
        raise UserError(f"No such picture: {file}.")
    data = file.read_bytes()
    try:
        source = decode(data, read_header(data))
        canvas = crop_step(resize_step(source, GEOMETRIES[edition]), GEOMETRIES[edition])
    except PictureError as error:
        raise UserError(f"{file} cannot be shown: {error.reason}.") from error
    return np.require(canvas, requirements=["C", "W"])
