"""Contact sheets and strips: a unit's severities side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image as PillowImage
from PIL import ImageDraw

from windtunnel.corruptions import SEVERITIES, Corruption
from windtunnel.errors import PictureError, UserError
from windtunnel.imaging import Image
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.geometry import crop_step, resize_step
from windtunnel.imaging.header import read_header
from windtunnel.report.scene import scene
from windtunnel.suites import GEOMETRIES

CELL_PX = 224
CAPTION_PX = 22
GAP_PX = 6

# Six cells beside each other are as wide as a page of text.
STRIP_CELL_PX = 168

Captioned = Sequence[tuple[str, Image]]


def contact_sheet(unit: Corruption, file: Path | None, seed: int, edition: int) -> Image:
    """Clean and the five severities in two rows of three, captioned; small editions are enlarged."""
    canvas = scene(edition) if file is None else _canvas(file, edition)
    pictures = _severities(unit, canvas, file.name if file else "scene", seed, edition)
    return _laid_out(pictures, columns=3, cell_px=CELL_PX)


def strip(unit: Corruption, canvas: Image, edition: int) -> Image:
    """Clean and the five severities of a scene in one row, captioned and shrunk to a page's width."""
    pictures = _severities(unit, canvas, "scene", 0, edition)
    return _laid_out(pictures, columns=len(pictures), cell_px=STRIP_CELL_PX)


def _severities(unit: Corruption, canvas: Image, sample_id: str, seed: int, edition: int) -> Captioned:
    spoilt = [
        (
            f"{unit.name}:{severity}",
            unit.apply(canvas.copy(), unit.draws(seed, sample_id, severity), severity, edition),
        )
        for severity in SEVERITIES
    ]
    return [("clean", canvas), *spoilt]


def _laid_out(pictures: Captioned, columns: int, cell_px: int) -> Image:
    rows = -(-len(pictures) // columns)
    step_x, step_y = cell_px + GAP_PX, cell_px + CAPTION_PX + GAP_PX
    sheet = PillowImage.new("RGB", (columns * step_x + GAP_PX, rows * step_y + GAP_PX), "white")
    pen = ImageDraw.Draw(sheet)
    for number, (caption, picture) in enumerate(pictures):
        left = GAP_PX + number % columns * step_x
        top = GAP_PX + number // columns * step_y
        pen.text((left + 2, top + 4), caption, fill="black", font_size=14)
        sheet.paste(_cell(picture, cell_px), (left, top + CAPTION_PX))
    return np.asarray(sheet)


def _cell(picture: Image, cell_px: int) -> PillowImage.Image:
    cell = PillowImage.fromarray(picture)
    if cell.size == (cell_px, cell_px):
        return cell
    grows = min(cell.size) < cell_px
    resampling = PillowImage.Resampling.NEAREST if grows else PillowImage.Resampling.LANCZOS
    return cell.resize((cell_px, cell_px), resampling)


def _canvas(file: Path, edition: int) -> Image:
    if not file.is_file():
        raise UserError(f"No such picture: {file}.")
    data = file.read_bytes()
    try:
        source = decode(data, read_header(data))
        canvas = crop_step(resize_step(source, GEOMETRIES[edition]), GEOMETRIES[edition])
    except PictureError as error:
        raise UserError(f"{file} cannot be shown: {error.reason}.") from error
    return np.require(canvas, requirements=["C", "W"])
