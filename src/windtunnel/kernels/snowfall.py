"""Snowfall: flakes drawn as magnified noise, and an image whitened and overlaid with them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.kernels.fields import fill_normal
from windtunnel.kernels.jit import jit
from windtunnel.kernels.lines import lines
from windtunnel.kernels.scratch import scratch
from windtunnel.kernels.unit import unit, unit32
from windtunnel.kernels.zoom import zoom_axis

ONE, TWO = np.uint64(1), np.uint64(2)


def draw_flakes(
    key: int, height: int, width: int, mean: float, spread: float, zoom: float, threshold: float
) -> NDArray[np.uint8]:
    """A layer (HxWx1) of normal noise, its middle magnified, black below a threshold."""
    rows, columns = zoom_axis(height, zoom), zoom_axis(width, zoom)
    # Only the middle of the field survives the magnification, so only that is drawn.
    field = fill_normal(scratch("snow", (rows.length, columns.length), np.float64), key, mean, spread)
    return _magnify(field, rows.index, rows.fraction, columns.index, columns.fraction, threshold)


@jit
def _magnify(
    field: NDArray[np.float64],
    row: NDArray[np.int64],
    row_fraction: NDArray[np.float64],
    column: NDArray[np.int64],
    column_fraction: NDArray[np.float64],
    threshold: float,
) -> NDArray[np.uint8]:
    """Bilinear interpolation of a field on a grid given by its axes, as bytes, black below a threshold."""
    out = np.empty((row.size, column.size, 1), np.uint8)
    targets = lines(out)
    blended, magnified = np.empty(field.shape[1] + 1, np.float64), np.empty(column.size, np.float64)
    for y in range(row.size):
        first, second = field[row[y]], field[min(row[y] + 1, field.shape[0] - 1)]
        part = row_fraction[y]
        for x in range(first.size):
            blended[x] = first[x] * (1.0 - part) + second[x] * part
        blended[first.size] = blended[first.size - 1]
        for x in range(column.size):
            at = np.uint64(column[x])  # unsigned: no negative index to look for
            part = column_fraction[x]
            magnified[x] = blended[at] * (1.0 - part) + blended[at + np.uint64(1)] * part
        target = targets[y]
        for x in range(column.size):
            value = magnified[x] if magnified[x] >= threshold else 0.0
            target[x] = np.uint8(np.int32(min(max(value, 0.0), 1.0) * 255.0))
    return out


def whiten(image: Image, keep: float) -> NDArray[np.float32]:
    """An image in the light of snow, HxWx3 from 0 on: keep*x + (1-keep)*max(x, 1.5*grey + .5)."""
    return _whiten(image, np.float32(keep), np.float32(1 - keep))


def snow_over(image: Image, flakes: NDArray[np.uint8], keep: float) -> Image:
    """`whiten` and `lay_flakes` in one go, line by line."""
    return _snow_over(image, flakes, np.float32(keep), np.float32(1 - keep))


@jit
def lay_flakes(whitened: NDArray[np.float32], flakes: NDArray[np.uint8]) -> Image:
    """A whitened image with flakes, and the flakes turned by 180 degrees, added; clipped at white."""
    height, width = whitened.shape[:2]
    fall = np.empty(width * 3, np.float64)
    out = np.empty((height, width, 3), np.uint8)
    sources, layer, targets = lines(whitened), lines(flakes), lines(out)
    for y in range(height):
        _lay_flakes_row(sources[y], layer, y, fall, targets[y])
    return out


@jit
def _whiten(image: Image, keep: np.float32, rest: np.float32) -> NDArray[np.float32]:
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.float32)
    bright = np.empty(width * 3, np.float32)
    sources, targets = lines(image), lines(out)
    for y in range(height):
        _whiten_row(sources[y], keep, rest, bright, targets[y])
    return out


@jit
def _snow_over(image: Image, flakes: NDArray[np.uint8], keep: np.float32, rest: np.float32) -> Image:
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    whitened = np.empty(width * 3, np.float32)
    bright = np.empty(width * 3, np.float32)
    fall = np.empty(width * 3, np.float64)
    sources, layer, targets = lines(image), lines(flakes), lines(out)
    for y in range(height):
        _whiten_row(sources[y], keep, rest, bright, whitened)
        _lay_flakes_row(whitened, layer, y, fall, targets[y])
    return out


@jit
def _whiten_row(
    source: NDArray[np.uint8],
    keep: np.float32,
    rest: np.float32,
    bright: NDArray[np.float32],
    target: NDArray[np.float32],
) -> None:
    for x in range(source.size):
        target[x] = unit32(source[x])
    for x in range(source.size // 3):
        at = np.uint64(3 * x)  # unsigned: no negative index to look for
        grey = target[at] * np.float32(0.299) + target[at + ONE] * np.float32(0.587)
        grey += target[at + TWO] * np.float32(0.114)
        white = grey * np.float32(1.5) + np.float32(0.5)
        bright[at] = white
        bright[at + ONE] = white
        bright[at + TWO] = white
    for x in range(source.size):
        target[x] = keep * target[x] + rest * max(target[x], bright[x])


@jit
def _lay_flakes_row(
    whitened: NDArray[np.float32],
    flakes: NDArray[np.uint8],
    y: int,
    fall: NDArray[np.float64],
    target: NDArray[np.uint8],
) -> None:
    height, width = flakes.shape[:2]
    falling, turned = flakes[y], flakes[height - 1 - y]
    for x in range(width):
        both = unit(falling[x]) + unit(turned[np.uint64(width - 1 - x)])
        at = np.uint64(3 * x)  # unsigned: no negative index to look for
        fall[at] = both
        fall[at + ONE] = both
        fall[at + TWO] = both
    for x in range(width * 3):
        target[x] = np.uint8(np.int32(min(np.float64(whitened[x]) + fall[x], 1.0) * 255.0))
