"""Vertical lines: the image is redrawn as vertical lines that bend to the left where it is dark."""

from __future__ import annotations

import numpy as np

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.jit import jit

LARGE = tuple((lines, step, 40, 224) for lines, step in ((224, 1), (178, 2), (112, 4), (84, 6), (60, 8)))


@corruption(
    params=("lines", "step", "reach", "edition_side"),
    severities={
        224: LARGE,
        299: LARGE,
        64: tuple((lines, step, 11, 64) for lines, step in ((64, 1), (51, 1), (38, 2), (28, 2), (20, 3))),
        32: tuple((lines, step, 6, 32) for lines, step in ((32, 1), (27, 1), (22, 2), (17, 2), (12, 3))),
    },
    imitates="A drawing of the image in vertical strokes.",
    met_by="Out-of-distribution tests of models that were trained on web-scale data.",
    family="geometry",
    source="Li et al. 2025, LAION-C",
    revision=1,
    golden="e5681245aff1c58a6d43492a526bd861",
    random=False,
)
def vertical_lines(
    image: Image,
    rng: Draws,  # noqa: ARG001
    *,
    lines: float,
    step: float,
    reach: float,
    edition_side: float,
) -> Image:
    """Draw lines of one pixel from cell to cell of a column, on black, each in its cell's mean colour.

    A line is `reach` pixels to the left where a cell is black, and 0 where it is white. `lines` holds for
    images of the edition's width; others have as many for the same width.
    """
    number = max(round(lines * image.shape[1] / edition_side), 1)
    return _drawn(image, number, int(step), reach)


@jit
def _drawn(image: Image, lines: int, step: int, reach: float) -> Image:
    height, width = image.shape[:2]
    out = np.zeros((height, width, 3), np.uint8)
    colour = np.zeros(3, np.uint8)
    for line in range(lines):
        place = (line / lines) * width
        left, right = int(place), min(int(place + width / lines), width)
        last_x, last_y = int(place), 0
        for top in range(0, height, step):
            red, green, blue, grey, count = 0, 0, 0, 0, 0
            for y in range(top, min(top + step, height)):
                for x in range(left, right):
                    r, g, b = int(image[y, x, 0]), int(image[y, x, 1]), int(image[y, x, 2])
                    red, green, blue = red + r, green + g, blue + b
                    grey += (19595 * r + 38470 * g + 7471 * b + 0x8000) >> 16
                    count += 1
            if count:
                red, green, blue, grey = red // count, green // count, blue // count, grey // count
            colour[0], colour[1], colour[2] = red, green, blue
            x = int(place + (1 - grey / 255) * -reach)
            _stroke(out, last_x, last_y, x, top, colour)
            last_x, last_y = x, top
    return out


@jit
def _stroke(out: Image, x: int, y: int, to_x: int, to_y: int, colour: Image) -> None:
    """Bresenham's line with both ends; points outside the image are left out. Lines never go up."""
    across, down = abs(to_x - x), to_y - y
    turn = 1 if to_x >= x else -1
    is_flat = across > down
    longer, shorter = (across, down) if is_flat else (down, across)
    error = 2 * shorter - longer
    for number in range(longer + 1):
        if 0 <= x < out.shape[1]:
            for c in range(3):
                out[y, x, c] = colour[c]
        if number == longer:
            break
        if error >= 0 and shorter:
            if is_flat:
                y += 1
            else:
                x += turn
            error -= 2 * longer
        error += 2 * shorter
        if is_flat:
            x += turn
        else:
            y += 1
