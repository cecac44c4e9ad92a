"""Draws docs/images/resizes.svg: the same 6x6 image at 3x3 by the six resizers of ImageNet-S.

python tools/draw_resizes.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from windtunnel.imaging.resizers import resize

TARGET = Path(__file__).parents[1] / "docs" / "images" / "resizes.svg"
METHODS = tuple(
    f"{library}-{name}" for library in ("pillow", "opencv") for name in ("nearest", "bilinear", "bicubic")
)
# A bright stroke and a fine grid: what aliasing feeds on.
IMAGE = np.array(
    [
        [0, 0, 0, 0, 0, 255],
        [0, 0, 0, 0, 255, 0],
        [0, 0, 0, 255, 0, 0],
        [255, 0, 255, 64, 128, 192],
        [0, 255, 0, 64, 128, 192],
        [255, 0, 255, 64, 128, 192],
    ],
    np.uint8,
)
CELL = 26
GAP = 30
TOP = 34


def grid(values: NDArray[np.uint8], left: int, top: int, cell: int) -> list[str]:
    """Cells in their grey, each with its number."""
    parts = []
    for row, line in enumerate(values):
        for column, value in enumerate(int(one) for one in line):
            x, y = left + column * cell, top + row * cell
            ink = "#000" if value > 110 else "#fff"
            parts.append(
                f'<rect x="{x}" y="{y}" width="{cell}" height="{cell}" fill="rgb({value},{value},{value})" '
                f'stroke="#888" stroke-width="0.5"/><text x="{x + cell / 2:g}" y="{y + cell / 2 + 4:g}" '
                f'fill="{ink}" text-anchor="middle">{value}</text>'
            )
    return parts


def drawing() -> str:
    """The whole figure as SVG."""
    image = np.repeat(IMAGE[:, :, None], 3, axis=2)
    half = 2 * CELL
    left = 6 * CELL + 2 * GAP
    parts = [f'<text x="{GAP}" y="{TOP - 10}" fill="#888">6x6</text>', *grid(IMAGE, GAP, TOP, CELL)]
    for place, method in enumerate(METHODS):
        x = left + (place % 3) * (3 * half + GAP) + GAP
        y = TOP + (place // 3) * (3 * half + GAP + 10)
        parts.append(f'<text x="{x}" y="{y - 10}" fill="#888">{method}</text>')
        parts += grid(resize(image, 3, 3, method)[:, :, 0], x, y, half)
    width, height = left + 3 * (3 * half + GAP) + GAP, TOP + 2 * (3 * half + GAP + 10)
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="11" role="img" aria-label="A 6x6 image at 3x3 by six resizers">\n{body}\n</svg>\n'
    )


if __name__ == "__main__":
    TARGET.write_text(drawing(), encoding="utf-8")
    print(TARGET)
