"""Warps as the reference's libraries made them, whatever their current versions do."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.kernels.jit import jit
from windtunnel.kernels.lines import lines
from windtunnel.kernels.mirror import mirror_101, mirror_edge
from windtunnel.kernels.sheet import black_place, blend_row, pack
from windtunnel.kernels.window import Window

# OpenCV 3.4 rounds coordinates to 1/1024, then to 1/32 of a pixel.
FINE = 1024.0
# Added before truncation towards zero, so that it rounds down for every coordinate that can occur.
OFFSET = 1024
# Uniform areas must not change; the float32 error is below this.
FLOAT32_MISS = np.float32(1e-4)
# The affine map's steps in a pixel; a weight is the product of two.
STEPS = np.uint64(32)
# Bit positions of channels in a packed pixel, and their width.
GREEN, BLUE = np.uint64(21), np.uint64(42)
FIELD = np.uint64(2**21 - 1)
ONE, TWO = np.uint64(1), np.uint64(2)
# The perspective map's steps in a pixel, and the largest step that a 32-bit number can represent.
GRID, GRID_BITS, GRID_MASK = 32.0, np.int32(5), np.int32(31)
FARTHEST = 2.0**30


@jit
def affine_mirrored(
    image: Image, inverse: NDArray[np.float64], packed: NDArray[np.uint64], out: NDArray[np.uint64]
) -> None:
    """Sample an image at inverse @ (x, y, 1), bilinear on OpenCV 3.4's 1/32-pixel grid, mirrored border.

    Weights are whole 1/1024s here, and applied to all channels of a packed pixel at once; a pixel of `out`
    (height x width) holds 1024 times each of its channels. `packed` is a buffer of a word for each pixel. The
    compiler vectorises all but the lookups.
    """
    height, width = image.shape[:2]
    _pack(image, packed)
    below = np.uint64(width)
    near = np.empty((4, width), np.uint64)
    a, b, c, d = near[0], near[1], near[2], near[3]
    across_x, across_y = np.empty(width, np.int64), np.empty(width, np.int64)
    for x in range(width):
        across_x[x] = np.int64(np.rint(inverse[0, 0] * x * FINE))
        across_y[x] = np.int64(np.rint(inverse[1, 0] * x * FINE))
    for y in range(height):
        base_x = np.int64(np.rint((inverse[0, 1] * y + inverse[0, 2]) * FINE)) + 16
        base_y = np.int64(np.rint((inverse[1, 1] * y + inverse[1, 2]) * FINE)) + 16
        for x in range(width):
            left, top = (base_x + across_x[x]) >> 10, (base_y + across_y[x]) >> 10
            at = np.uint64(top * width + left)  # unsigned: no negative index to look for
            if 0 <= left < width - 1 and 0 <= top < height - 1:
                a[x], b[x] = packed[at], packed[at + ONE]
                c[x], d[x] = packed[at + below], packed[at + below + ONE]
                continue
            left, right = mirror_101(left, width), mirror_101(left + 1, width)
            top, bottom = mirror_101(top, height), mirror_101(top + 1, height)
            a[x], b[x] = packed[np.uint64(top * width + left)], packed[np.uint64(top * width + right)]
            c[x], d[x] = packed[np.uint64(bottom * width + left)], packed[np.uint64(bottom * width + right)]
        target = out[y]
        for x in range(width):
            part_x = np.uint64(((base_x + across_x[x]) >> 5) & 31)
            part_y = np.uint64(((base_y + across_y[x]) >> 5) & 31)
            rest_x, rest_y = STEPS - part_x, STEPS - part_y
            upper, lower = rest_x * a[x] + part_x * b[x], rest_x * c[x] + part_x * d[x]
            target[x] = rest_y * upper + part_y * lower


@jit
def _pack(image: Image, packed: NDArray[np.uint64]) -> None:
    """Set a word for each pixel, with room for 1024 times each of its channels."""
    flat = image.reshape(-1)
    for i in range(packed.size):
        at = np.uint64(3 * i)  # unsigned: no negative index to look for
        red, green, blue = np.uint64(flat[at]), np.uint64(flat[at + ONE]), np.uint64(flat[at + TWO])
        packed[i] = red | green << GREEN | blue << BLUE


@jit
def displace_mirrored(
    pixels: NDArray[np.uint64], across: NDArray[np.float32], down: NDArray[np.float32]
) -> Image:
    """Sample at (y + down, x + across) as SciPy does: bilinear, mirrored; truncated to bytes.

    A pixel holds 1024 times each of its channels, as from `affine_mirrored`. Places and weights of a whole
    row come first, bytes last: the compiler vectorises those loops.
    """
    height, width = pixels.shape
    flat = pixels.reshape(-1)
    out = np.empty((height, width, 3), np.uint8)
    lefts, tops = np.empty(width, np.int32), np.empty(width, np.int32)
    parts_x, parts_y = np.empty(width, np.float32), np.empty(width, np.float32)
    near, channels = np.empty((4, width), np.uint64), np.empty((3, width), np.uint8)
    targets = lines(out)
    for y in range(height):
        steps_x, steps_y = across[y], down[y]
        for x in range(width):
            at_x, at_y = np.float32(x) + steps_x[x], np.float32(y) + steps_y[x]
            lefts[x] = np.int32(at_x + np.float32(OFFSET)) - OFFSET
            tops[x] = np.int32(at_y + np.float32(OFFSET)) - OFFSET
            parts_x[x], parts_y[x] = at_x - np.float32(lefts[x]), at_y - np.float32(tops[x])
        _look_up(flat, height, width, lefts, tops, near)
        _blend_near(near, parts_x, parts_y, np.uint64(0), channels[0])
        _blend_near(near, parts_x, parts_y, GREEN, channels[1])
        _blend_near(near, parts_x, parts_y, BLUE, channels[2])
        target = targets[y]
        for x in range(width):
            at = np.uint64(3 * x)  # unsigned: no negative index to look for
            target[at], target[at + ONE], target[at + TWO] = channels[0, x], channels[1, x], channels[2, x]
    return out


@jit
def _look_up(
    flat: NDArray[np.uint64],
    height: int,
    width: int,
    lefts: NDArray[np.int32],
    tops: NDArray[np.int32],
    near: NDArray[np.uint64],
) -> None:
    """The four pixels around each sample of a row, mirrored at the edge."""
    a, b, c, d = near[0], near[1], near[2], near[3]
    below = np.uint64(width)
    for x in range(width):
        left, top = int(lefts[x]), int(tops[x])
        at = np.uint64(top * width + left)  # unsigned: no negative index to look for
        if 0 <= left < width - 1 and 0 <= top < height - 1:
            a[x], b[x] = flat[at], flat[at + ONE]
            c[x], d[x] = flat[at + below], flat[at + below + ONE]
            continue
        left, right = mirror_edge(left, width), mirror_edge(left + 1, width)
        top, bottom = mirror_edge(top, height), mirror_edge(top + 1, height)
        a[x], b[x] = flat[np.uint64(top * width + left)], flat[np.uint64(top * width + right)]
        c[x], d[x] = flat[np.uint64(bottom * width + left)], flat[np.uint64(bottom * width + right)]


@jit
def _blend_near(
    near: NDArray[np.uint64],
    parts_x: NDArray[np.float32],
    parts_y: NDArray[np.float32],
    shift: np.uint64,
    target: NDArray[np.uint8],
) -> None:
    """One channel of a row of samples."""
    a, b, c, d = near[0], near[1], near[2], near[3]
    for x in range(target.size):
        both = parts_x[x] * parts_y[x]
        sampled = (
            (np.float32(1) - parts_x[x] - parts_y[x] + both) * _level(a[x], shift)
            + (parts_x[x] - both) * _level(b[x], shift)
            + (parts_y[x] - both) * _level(c[x], shift)
            + both * _level(d[x], shift)
        )
        target[x] = np.uint8(np.int32(min(sampled + FLOAT32_MISS, np.float32(255))))


@jit
def _level(pixel: np.uint64, shift: np.uint64) -> np.float32:
    """A channel of a packed pixel: exact, since it is a whole number of 1/1024s below 2**18."""
    return np.float32(np.int32((pixel >> shift) & FIELD)) * np.float32(1 / 1024)


@dataclass(frozen=True)
class Affine:
    """A map from places of the output back to places of the source, both counted from pixels' corners.

    Place x of the source is a*x + b*y + c, place y is d*x + e*y + f.
    """

    a: float
    b: float
    c: float
    d: float
    e: float
    f: float


def about_centre(
    width: int, height: int, *, degrees: float = 0.0, shear_degrees: float = 0.0, scale: float = 1.0
) -> Affine:
    """Back from an image that was turned clockwise, sheared and enlarged as the reference does it.

    Its fixed point is the pixel with index (width/2, height/2), half a pixel right of and below the middle.
    A shear also squeezes: it turns the vertical axis and keeps its length.
    """
    turn, lean = math.radians(degrees), math.radians(degrees) + math.radians(shear_degrees)
    # The forward map is scale * [[cos turn, -sin lean], [sin turn, cos lean]]. Its inverse is summed in the
    # reference's order: at places between two pixels the last bit may decide about a level.
    size = 1 / scale / (math.cos(lean) * math.cos(turn) + math.sin(lean) * math.sin(turn))
    a, b = size * math.cos(lean), size * math.sin(lean)
    d, e = size * -math.sin(turn), size * math.cos(turn)
    x, y = width / 2 + 0.5, height / 2 + 0.5
    return Affine(a, b, a * -x + b * -y + x, d, e, d * -x + e * -y + y)


class AffineWarp:
    """Affine transforms of one image as Pillow makes them: bilinear, truncated, black outside.

    A place is inside if it lies within the image's outline; between the outline and the outermost pixels'
    middles the edge is repeated, so that the border is hard.
    """

    def __init__(self, image: Image, window: Window) -> None:
        self._height, self._width = image.shape[:2]
        self._sheet = pack(image, True)
        self._window = window

    def __call__(self, back: Affine) -> Image:
        """The window's part of the transformed image."""
        window = self._window
        return _affine(
            self._sheet,
            self._height,
            self._width,
            (back.a, back.b, back.c, back.d, back.e, back.f),
            window.top,
            window.left,
            np.empty((window.height, window.width, 3), np.uint8),
        )


@jit
def _affine(
    sheet: NDArray[np.int32],
    height: int,
    width: int,
    back: tuple[float, float, float, float, float, float],
    top: int,
    left: int,
    out: Image,
) -> Image:
    a, b, c, d, e, f = back
    stride = np.int32(width + 2)
    black = np.int32(black_place(height, width))
    count = out.shape[1]
    place = np.empty(count, np.int32)
    right, low = np.empty(count, np.float64), np.empty(count, np.float64)
    near = np.empty((4, count), np.int32)
    targets = lines(out)
    for y in range(out.shape[0]):
        down = y + top + 0.5
        if _misses(a, b * down, c, left, count, width) or _misses(d, e * down, f, left, count, height):
            out[y] = 0
            continue
        for x in range(count):
            across = x + left + 0.5
            at_x, at_y = a * across + b * down + c, d * across + e * down + f
            inside = (at_x >= 0.0) & (at_x < width) & (at_y >= 0.0) & (at_y < height)
            at_x, at_y = at_x - 0.5, at_y - 0.5
            column, row = np.floor(at_x), np.floor(at_y)
            right[x], low[x] = at_x - column, at_y - row
            spot = (np.int32(row) + np.int32(1)) * stride + np.int32(column) + np.int32(1)
            place[x] = spot if inside else black
        blend_row(sheet, width + 2, place, right, low, np.float64(0), near, targets[y])
    return out


@jit
def _misses(slope: float, along: float, offset: float, left: int, count: int, size: int) -> bool:
    """Whether a row of places is on one side of the image, tested by its two ends."""
    first, last = slope * (left + 0.5) + along + offset, slope * (left + count - 0.5) + along + offset
    return max(first, last) < 0.0 or min(first, last) >= size


def shift_across(image: Image, shift_px: int, window: Window) -> Image:
    """The window's part of an image moved to the right (to the left if negative), black behind it."""
    out = np.zeros((window.height, window.width, 3), np.uint8)
    begin = max(window.left, shift_px)
    end = min(window.left + window.width, image.shape[1] + shift_px)
    if begin < end:
        rows = slice(window.top, window.top + window.height)
        out[:, begin - window.left : end - window.left] = image[rows, begin - shift_px : end - shift_px]
    return out


Homography = tuple[float, float, float, float, float, float, float, float, float]


class PerspectiveWarp:
    """Perspective transforms of one image as OpenCV 3.4 makes them.

    Bilinear on a grid of 1/32 pixel, rounded, black outside: the outermost pixels fade into it.
    """

    def __init__(self, image: Image, window: Window) -> None:
        self._height, self._width = image.shape[:2]
        self._sheet = pack(image, False)
        self._window = window

    def __call__(self, back: Homography) -> Image:
        """The window's part of the image seen through a map from its output back to its source."""
        window = self._window
        return _perspective(
            self._sheet,
            self._height,
            self._width,
            back,
            window.top,
            window.left,
            np.empty((window.height, window.width, 3), np.uint8),
        )


@jit
def _perspective(
    sheet: NDArray[np.int32], height: int, width: int, back: Homography, top: int, left: int, out: Image
) -> Image:
    a, b, c, d, e, f, g, h, i = back
    stride = np.int32(width + 2)
    black = np.int32(black_place(height, width))
    count = out.shape[1]
    place = np.empty(count, np.int32)
    right, low = np.empty(count, np.float32), np.empty(count, np.float32)
    near = np.empty((4, count), np.int32)
    targets = lines(out)
    for row in range(out.shape[0]):
        y = float(row + top)
        for column in range(count):
            x = float(column + left)
            depth = GRID / (g * x + h * y + i)
            # Far outside is outside, whatever the number; whole numbers end somewhere.
            at_x = min(max(np.rint((a * x + b * y + c) * depth), -FARTHEST), FARTHEST)
            at_y = min(max(np.rint((d * x + e * y + f) * depth), -FARTHEST), FARTHEST)
            fixed_x, fixed_y = np.int32(at_x), np.int32(at_y)
            cell_x, cell_y = fixed_x >> GRID_BITS, fixed_y >> GRID_BITS
            right[column] = np.float32(fixed_x & GRID_MASK) * np.float32(1 / GRID)
            low[column] = np.float32(fixed_y & GRID_MASK) * np.float32(1 / GRID)
            inside = (cell_x >= -1) & (cell_x < width) & (cell_y >= -1) & (cell_y < height)
            spot = (cell_y + np.int32(1)) * stride + cell_x + np.int32(1)
            place[column] = spot if inside else black
        blend_row(sheet, width + 2, place, right, low, np.float32(0.5), near, targets[row])
    return out
