"""Boxes of objects drawn on images: annotated ones and detections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image as PillowImage
from PIL import ImageDraw

from windtunnel.core.images import Image

# Colours of Okabe and Ito, distinguishable with any kind of colour vision.
TRUE_COLOUR, FOUND_COLOUR = "#009E73", "#D55E00"
LINE_PX = 2


@dataclass(frozen=True)
class DrawnBox:
    """A box with a caption.

    Attributes:
        box: left, top, right and bottom in pixels of the image.
        colour: of its line.
        text: its caption; "" for none.
    """

    box: tuple[float, float, float, float]
    colour: str
    text: str = ""


def draw_boxes(image: Image, boxes: Sequence[DrawnBox], side_px: int) -> Image:
    """An image with at most this many pixels on its longer side, with boxes; later boxes are on top."""
    canvas = PillowImage.fromarray(np.ascontiguousarray(image)).convert("RGB")
    scale = side_px / max(canvas.size)
    canvas = canvas.resize((max(1, round(canvas.width * scale)), max(1, round(canvas.height * scale))))
    pen = ImageDraw.Draw(canvas)
    for drawn in boxes:
        left, top, right, bottom = (float(end) * scale for end in drawn.box)
        pen.rectangle((left, top, max(left, right), max(top, bottom)), outline=drawn.colour, width=LINE_PX)
    for drawn in boxes:
        if drawn.text:
            left, top = (max(float(end) * scale, 0.0) for end in drawn.box[:2])
            area = pen.textbbox((left + 2, top + 1), drawn.text)
            pen.rectangle((area[0] - 1, area[1] - 1, area[2] + 1, area[3] + 1), fill=drawn.colour)
            pen.text((left + 2, top + 1), drawn.text, fill="white")
    return np.asarray(canvas)
