"""Lines: grey, smoothed lines cross the image."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.core.seeding import Draws
from windtunnel.corruptions import corruption
from windtunnel.kernels.jit import jit
from windtunnel.published.c_bar import CIFAR_SOURCE, c_bar_severities

GREY = 128.0


@corruption(
    params=("strength",),
    severities=c_bar_severities("lines"),
    imitates="Scratches and wires across the image.",
    met_by="Scratched lenses and film, cables, fences, grass in front of the camera.",
    family="occlusion",
    source=CIFAR_SOURCE,
    revision=1,
    golden="be1cd8e54c5db524ce783ed252534b05",
)
def lines(image: Image, rng: Draws, *, strength: float) -> Image:
    """Draw 10 % strength of a line for each pixel of the short side, in directions around a random one."""
    height, width = image.shape[:2]
    side = min(height, width)
    count = int(strength / 10 * side)
    rows, columns = rng.uniforms("rows", count, 0, height), rng.uniforms("columns", count, 0, width)
    angle, variation = rng.uniform("angle", 0, 2 * math.pi), rng.uniform("variation", 0.1, 1.0)
    angles = angle + 2 * math.pi * variation * (rng.uniforms("angles", count) - 0.5)
    return _crossed(image, rows, columns, angles, float(side))


@jit
def _crossed(
    image: Image,
    rows: NDArray[np.float64],
    columns: NDArray[np.float64],
    angles: NDArray[np.float64],
    reach: float,
) -> Image:
    out = image.copy()
    for number in range(rows.size):
        down, across = reach * math.cos(angles[number]), reach * math.sin(angles[number])
        row, column = rows[number], columns[number]
        _line(out, int(row - down), int(column - across), int(row + down), int(column + across))
    return out


@jit
def _line(out: Image, y: int, x: int, to_y: int, to_x: int) -> None:
    """An anti-aliased line after Zingl: Bresenham's error, divided by the length, is the share of grey."""
    across, down = abs(to_x - x), abs(to_y - y)
    step_x, step_y = 1 if x < to_x else -1, 1 if y < to_y else -1
    error = across - down
    length = max(math.sqrt(float(across * across + down * down)), 1.0)
    before = out.copy()
    while True:
        _mix(out, before, y, x, 1.0 - abs(error - across + down) / length)
        old, old_x = error, x
        if 2 * old >= -across:
            if x == to_x:
                break
            if old + down < length:
                _mix(out, before, y + step_y, x, 1.0 - abs(old + down) / length)
            error -= down
            x += step_x
        if 2 * old <= down:
            if y == to_y:
                break
            if across - old < length:
                _mix(out, before, y, old_x + step_x, 1.0 - abs(across - old) / length)
            error += across
            y += step_y


@jit
def _mix(out: Image, before: Image, y: int, x: int, share: float) -> None:
    if 0 <= y < out.shape[0] and 0 <= x < out.shape[1]:
        for c in range(3):
            out[y, x, c] = np.uint8((1.0 - share) * np.float64(before[y, x, c]) + share * GREY)
