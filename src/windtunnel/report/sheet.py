"""Contact sheets, strips and animations: a corruption's severities or draws, a sequence's frames."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image as PillowImage
from PIL import ImageDraw

from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.images import Image
from windtunnel.core.option_names import option
from windtunnel.corruptions import SEVERITIES, Corruption
from windtunnel.engine.images import Stages, clip_of, stages_of
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.files import read_file
from windtunnel.imaging.header import read_header
from windtunnel.report.demo_scene import scene
from windtunnel.sequences import Perturbation
from windtunnel.suites.canvas import GEOMETRIES

CELL_PX = 224
CAPTION_PX = 22
GAP_PX = 6

# Six cells in a row are as wide as a page of text.
STRIP_CELL_PX = 168

# Number of draws of a corruption with one strength.
DRAWS_SHOWN = 5
# Number of frames in a strip, and the durations of frames in an animation.
STRIP_FRAMES = 8
FRAME_CELL_PX = 124
FRAME_MS = 100
LAST_FRAME_MS = 600
ANIMATION_QUALITY = 80
# Side of the source image for each edition, including the margin that the centre crop removes.
SOURCE_PX = {32: 32, 64: 64, 224: 256, 299: 342}

Captioned = Sequence[tuple[str, Image]]


def contact_sheet(unit: Corruption, file: Path | None, seed: int, edition: int) -> Image:
    """A sheet of the clean image and five severities in two rows, captioned; small editions are enlarged.

    A unit with one strength is shown with five draws.
    """
    canvas = scene(edition) if file is None else _stages(file, edition)[-1]
    images = _corrupted(unit, canvas, file.name if file else "scene", seed, edition)
    return _layout(images, columns=min(3, len(images)), cell_px=CELL_PX)


def strip(unit: Corruption, canvas: Image, edition: int, cell_px: int = STRIP_CELL_PX) -> Image:
    """A strip of the clean scene and five severities or draws, captioned, as wide as a page."""
    images = _corrupted(unit, canvas, "scene", 0, edition)
    return _layout(images, columns=len(images), cell_px=cell_px)


def sequence_frames(
    unit: Perturbation, file: Path | None, seed: int, edition: int, difficulty: int = 1
) -> list[Image]:
    """All frames of a sequence of an image, or of the scene, as in a run."""
    stages = _stages(file, edition)
    rng = unit.draws(seed, file.name if file else "scene", difficulty)
    return list(clip_of(unit, stages, rng, difficulty, edition, GEOMETRIES[edition]))


def frame_strip(frames: Sequence[Image], cell_px: int = STRIP_CELL_PX) -> Image:
    """A strip of evenly spaced frames from the first to the last, captioned with their numbers."""
    numbers = np.linspace(0, len(frames) - 1, min(STRIP_FRAMES, len(frames))).round().astype(int)
    images = [(f"frame {number}", frames[number]) for number in numbers]
    return _layout(images, columns=len(images), cell_px=cell_px)


def animation(frames: Sequence[Image]) -> bytes:
    """All frames as a looping animated WebP; small frames are enlarged, the last is shown longer."""
    shown = [PillowImage.fromarray(frame) for frame in frames]
    if max(shown[0].size) < CELL_PX:
        shown = [_cell(frame, CELL_PX) for frame in frames]
    file = io.BytesIO()
    shown[0].save(
        file,
        "WEBP",
        save_all=True,
        append_images=shown[1:],
        duration=[FRAME_MS] * (len(shown) - 1) + [LAST_FRAME_MS],
        loop=0,
        quality=ANIMATION_QUALITY,
    )
    return file.getvalue()


def _corrupted(unit: Corruption, canvas: Image, sample_id: str, seed: int, edition: int) -> Captioned:
    """The clean image and the severities; of a unit with one strength, draws (one if it draws nothing)."""

    def made(sample: str, level: int) -> Image:
        return unit.apply(canvas.copy(), unit.draws(seed, sample, level), level, edition)

    if not unit.has_one_strength:
        graded = [(f"{unit.name}:{severity}", made(sample_id, severity)) for severity in SEVERITIES]
        return [("clean", canvas), *graded]
    if min(canvas.shape[:2]) < unit.min_side_px:
        raise UserError(
            f"{unit.name} needs images of at least {unit.min_side_px} pixels on each side; give another "
            f"{option('edition')}."
        )
    count = DRAWS_SHOWN if unit.random else 1
    names = [sample_id, *(f"{sample_id} {number}" for number in range(2, count + 1))]
    captions = [f"draw {number}" for number in range(1, count + 1)] if unit.random else [unit.name]
    return [
        ("clean", canvas),
        *((caption, made(name, 0)) for caption, name in zip(captions, names, strict=True)),
    ]


def _layout(images: Captioned, columns: int, cell_px: int) -> Image:
    rows = -(-len(images) // columns)
    step_x, step_y = cell_px + GAP_PX, cell_px + CAPTION_PX + GAP_PX
    sheet = PillowImage.new("RGB", (columns * step_x + GAP_PX, rows * step_y + GAP_PX), "white")
    pen = ImageDraw.Draw(sheet)
    for number, (caption, image) in enumerate(images):
        left = GAP_PX + number % columns * step_x
        top = GAP_PX + number // columns * step_y
        pen.text((left + 2, top + 4), caption, fill="black", font_size=14)
        sheet.paste(_cell(image, cell_px), (left, top + CAPTION_PX))
    return np.asarray(sheet)


def _cell(image: Image, cell_px: int) -> PillowImage.Image:
    cell = PillowImage.fromarray(image)
    if cell.size == (cell_px, cell_px):
        return cell
    is_enlarged = min(cell.size) < cell_px
    resampling = PillowImage.Resampling.NEAREST if is_enlarged else PillowImage.Resampling.LANCZOS
    return cell.resize((cell_px, cell_px), resampling)


def _stages(file: Path | None, edition: int) -> Stages:
    """An image, or the scene, at every stage of an edition's geometry."""
    if file is None:
        return stages_of(scene(SOURCE_PX[edition]), GEOMETRIES[edition])
    if not file.is_file():
        raise UserError(f"No such image: {file}. Give the path of an image file.")
    try:
        data = read_file(file)
        source = decode(data, read_header(data))
        return stages_of(np.require(source, requirements=["C", "W"]), GEOMETRIES[edition])
    except ImageError as error:
        raise UserError(f"{file} cannot be shown: {error.reason}.") from error
