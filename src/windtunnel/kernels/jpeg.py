"""What JPEG does to pixels, without writing a file: colours, cosine transform, quantisation, and back.

Entropy coding loses nothing, so that a round trip without it gives the same pixels as libjpeg's baseline
encoder (4:2:0) and its accurate decoder, in less time. Arithmetic is libjpeg's: integers throughout, the
transform of Loeffler, Ligtenberg and Moschytz with 13-bit constants, and triangular chroma upsampling.

The 8x8 blocks of a plane are transformed `TILE` at a time. Number i of every block of a tile is contiguous,
so that each step of the transform is one vector instruction for several blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.kernels.jit import jit
from windtunnel.kernels.scratch import scratch

Plane = NDArray[np.uint8]
Numbers = NDArray[np.int32]
Transform = Callable[[Numbers, Numbers], None]

# Blocks that are transformed together.
TILE = 64
ROW = 8 * TILE
# Pixels of a block's side, and of a macroblock's, which has one block of each chroma plane.
BLOCK_PX, MACROBLOCK_PX = 8, 16

# The quantisation tables of the JPEG standard's annex K, for quality 50.
LUMA = np.array([
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55,
    14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
    18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
], np.int32)  # fmt: skip
CHROMA = np.array([
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,
    24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,
    *[99] * 32,
], np.int32)  # fmt: skip

FRACTION = np.float32(2**-16)

# Constants of the transform, times 2^13.
CONSTANT_BITS, PASS_BITS = 13, 2
C_0_298, C_0_390, C_0_541, C_0_765, C_0_899, C_1_175 = 2446, 3196, 4433, 6270, 7373, 9633
C_1_501, C_1_847, C_1_961, C_2_053, C_2_562, C_3_072 = 12299, 15137, 16069, 16819, 20995, 25172


def jpeg_pixels(image: Image, quality: int, *, as_bgr: bool = False) -> Image:
    """The pixels of an image after it has been stored as JPEG of a quality and decoded.

    With `as_bgr` the encoder takes red for blue and blue for red, as OpenCV does if it is given RGB.
    """
    height, width = image.shape[:2]
    right, bottom = -width % MACROBLOCK_PX, height % 2
    if right or bottom:
        image = cv2.copyMakeBorder(image, 0, bottom, 0, right, cv2.BORDER_REPLICATE)
    rows, columns = image.shape[:2]
    planes = scratch("jpeg planes", (5, rows, columns), np.uint8)
    luma = scratch("jpeg luma", (-(-rows // BLOCK_PX) * BLOCK_PX, columns), np.uint8)
    chroma = scratch("jpeg chroma", (2, -(-rows // MACROBLOCK_PX) * BLOCK_PX, columns // 2), np.uint8)
    tiles = scratch("jpeg tiles", (2, 64 * TILE), np.int32)
    colours = (planes[2], planes[1], planes[0]) if as_bgr else (planes[0], planes[1], planes[2])
    cv2.split(image, colours)
    _store(planes, luma, chroma, *_steps(quality), tiles, -(-height // 2), -(-width // 2))
    merged = cv2.merge(colours)
    return merged if (rows, columns) == (height, width) else np.ascontiguousarray(merged[:height, :width])


@lru_cache(maxsize=64)
def _steps(quality: int) -> tuple[Numbers, NDArray[np.float32]]:
    """The quantisation steps of luma and chroma, and 1 / (8 step): coefficients are 8 times too large."""
    percent = 5000 // quality if quality < 50 else 200 - 2 * quality
    steps = np.clip((np.stack([LUMA, CHROMA]) * percent + 50) // 100, 1, 255).astype(np.int32)
    return steps, (1 / (8 * steps.astype(np.float64))).astype(np.float32)


@jit
def _store(
    planes: NDArray[np.uint8],
    luma: Plane,
    chroma: NDArray[np.uint8],
    steps: Numbers,
    inverse: NDArray[np.float32],
    tiles: Numbers,
    chroma_rows: int,
    chroma_columns: int,
) -> None:
    """Replace red, green and blue, the first three planes, by what JPEG leaves of them.

    Args:
        planes: these and two more for chroma.
        luma: a plane of whole blocks.
        chroma: two planes of whole blocks at half the size.
        steps, inverse: the quantisation of luma and chroma.
        tiles: memory for two tiles.
        chroma_rows, chroma_columns: the part of the chroma planes that belongs to the image.
    """
    rows, columns = planes.shape[1:]
    flat, flat_luma = planes.reshape(5, rows * columns), luma.reshape(luma.size)
    red, green, blue, cb, cr = flat[0], flat[1], flat[2], flat[3], flat[4]
    _weigh(red, green, blue, 19595, 38470, 7471, 32768, flat_luma)
    _weigh(red, green, blue, -11059, -21709, 32768, 8421375, cb)
    _weigh(red, green, blue, 32768, -27439, -5329, 8421375, cr)
    for y in range(rows, luma.shape[0]):
        luma[y] = luma[rows - 1]
    _quantise(luma, steps[0], inverse[0], tiles[0], tiles[1])
    for plane in range(2):
        _halve(planes[3 + plane], chroma[plane])
        _quantise(chroma[plane], steps[1], inverse[1], tiles[0], tiles[1])
        _double(chroma[plane], chroma_rows, chroma_columns, planes[3 + plane])
    _add_chroma(flat_luma, cb, cr, 0, 91881, red)
    _add_chroma(flat_luma, cb, cr, -22554, -46802, green)
    _add_chroma(flat_luma, cb, cr, 116130, 0, blue)


@jit
def _weigh(
    red: Plane, green: Plane, blue: Plane, of_red: int, of_green: int, of_blue: int, offset: int, out: Plane
) -> None:
    """Luma or chroma: a sum of RGB weighted by 16-bit fractions, exact in 24 bits."""
    r, g, b, rest = np.float32(of_red), np.float32(of_green), np.float32(of_blue), np.float32(offset)
    for i in range(red.size):
        total = r * np.float32(red[i]) + g * np.float32(green[i]) + b * np.float32(blue[i]) + rest
        out[i] = np.int32(total * FRACTION)


@jit
def _halve(plane: Plane, out: Plane) -> None:
    """Means of 2x2 values, halves rounded down and up in turn; further rows repeat the last one."""
    rows = plane.shape[0] // 2
    for y in range(rows):
        upper, lower, line = plane[2 * y], plane[2 * y + 1], out[y]
        for x in range(line.size):
            total = np.int32(upper[2 * x]) + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1]
            line[x] = (total + 1 + (x & 1)) >> 2
    for y in range(rows, out.shape[0]):
        out[y] = out[rows - 1]


def _forward(step: int, shift: int) -> Transform:
    """A pass of the forward transform over numbers that are `step` apart, rounded to 2^(13 - shift)."""
    half = 1 << (shift - 1)

    @jit
    def transform(src: Numbers, dst: Numbers) -> None:
        for i in range(step):
            a0, a7 = src[i] + src[i + 7 * step], src[i] - src[i + 7 * step]
            a1, a6 = src[i + step] + src[i + 6 * step], src[i + step] - src[i + 6 * step]
            a2, a5 = src[i + 2 * step] + src[i + 5 * step], src[i + 2 * step] - src[i + 5 * step]
            a3, a4 = src[i + 3 * step] + src[i + 4 * step], src[i + 3 * step] - src[i + 4 * step]
            b0, b3, b1, b2 = a0 + a3, a0 - a3, a1 + a2, a1 - a2
            z = (b2 + b3) * C_0_541
            z1, z2, z5 = (a4 + a7) * C_0_899, (a5 + a6) * C_2_562, (a4 + a6 + a5 + a7) * C_1_175
            z3, z4 = z5 - (a4 + a6) * C_1_961, z5 - (a5 + a7) * C_0_390
            dst[i] = np.int32(((b0 + b1) << CONSTANT_BITS) + half) >> shift
            dst[i + step] = np.int32(a7 * C_1_501 - z1 + z4 + half) >> shift
            dst[i + 2 * step] = np.int32(z + b3 * C_0_765 + half) >> shift
            dst[i + 3 * step] = np.int32(a6 * C_3_072 - z2 + z3 + half) >> shift
            dst[i + 4 * step] = np.int32(((b0 - b1) << CONSTANT_BITS) + half) >> shift
            dst[i + 5 * step] = np.int32(a5 * C_2_053 - z2 + z4 + half) >> shift
            dst[i + 6 * step] = np.int32(z - b2 * C_1_847 + half) >> shift
            dst[i + 7 * step] = np.int32(a4 * C_0_298 - z1 + z3 + half) >> shift

    return transform


def _inverse(step: int, shift: int) -> Transform:
    """A pass of the inverse transform over numbers that are `step` apart, rounded to 2^(13 - shift)."""
    half = 1 << (shift - 1)

    @jit
    def transform(src: Numbers, dst: Numbers) -> None:
        for i in range(step):
            c1, c3 = src[i + step], src[i + 3 * step]
            c5, c7 = src[i + 5 * step], src[i + 7 * step]
            z = (src[i + 2 * step] + src[i + 6 * step]) * C_0_541
            e2, e3 = z - src[i + 6 * step] * C_1_847, z + src[i + 2 * step] * C_0_765
            e0 = (src[i] + src[i + 4 * step]) << CONSTANT_BITS
            e1 = (src[i] - src[i + 4 * step]) << CONSTANT_BITS
            b0, b3, b1, b2 = e0 + e3 + half, e0 - e3 + half, e1 + e2 + half, e1 - e2 + half
            z1, z2, z5 = (c7 + c1) * C_0_899, (c5 + c3) * C_2_562, (c7 + c3 + c5 + c1) * C_1_175
            z3, z4 = z5 - (c7 + c3) * C_1_961, z5 - (c5 + c1) * C_0_390
            o0, o1 = c7 * C_0_298 - z1 + z3, c5 * C_2_053 - z2 + z4
            o2, o3 = c3 * C_3_072 - z2 + z3, c1 * C_1_501 - z1 + z4
            dst[i] = np.int32(b0 + o3) >> shift
            dst[i + step] = np.int32(b1 + o2) >> shift
            dst[i + 2 * step] = np.int32(b2 + o1) >> shift
            dst[i + 3 * step] = np.int32(b3 + o0) >> shift
            dst[i + 4 * step] = np.int32(b3 - o0) >> shift
            dst[i + 5 * step] = np.int32(b2 - o1) >> shift
            dst[i + 6 * step] = np.int32(b1 - o2) >> shift
            dst[i + 7 * step] = np.int32(b0 - o3) >> shift

    return transform


# Two more bits are kept between the passes; coefficients are 8 times too large.
_forward_rows = _forward(TILE, CONSTANT_BITS - PASS_BITS)
_forward_columns = _forward(ROW, CONSTANT_BITS + PASS_BITS)
_inverse_columns = _inverse(ROW, CONSTANT_BITS - PASS_BITS)
_inverse_rows = _inverse(TILE, CONSTANT_BITS + PASS_BITS + 3)


@jit
def _quantise(
    plane: Plane, steps: Numbers, inverse: NDArray[np.float32], tile: Numbers, other: Numbers
) -> None:
    """Transform the blocks of a plane, round their coefficients to the steps, and transform them back."""
    across = plane.shape[1] // 8
    count = across * (plane.shape[0] // 8)
    for first in range(0, count, TILE):
        blocks = min(TILE, count - first)
        _gather(plane, across, first, blocks, tile)
        for y in range(8):
            _forward_rows(tile[y * ROW : (y + 1) * ROW], other[y * ROW : (y + 1) * ROW])
        _forward_columns(other, tile)
        for number in range(64):
            _round(tile[number * TILE : (number + 1) * TILE], steps[number], inverse[number])
        _inverse_columns(tile, other)
        for y in range(8):
            _inverse_rows(other[y * ROW : (y + 1) * ROW], tile[y * ROW : (y + 1) * ROW])
        _scatter(tile, plane, across, first, blocks)


@jit
def _gather(plane: Plane, across: int, first: int, blocks: int, tile: Numbers) -> None:
    """Copy blocks of a plane into a tile, as differences from mid-grey."""
    done = 0
    while done < blocks:
        row, column = divmod(first + done, across)
        run = min(blocks - done, across - column)
        for y in range(8):
            line = plane[8 * row + y, 8 * column : 8 * (column + run)]
            numbers = tile[y * ROW + done :]
            for block in range(run):
                for x in range(8):
                    numbers[x * TILE + block] = np.int32(line[8 * block + x]) - 128
        done += run


@jit
def _scatter(tile: Numbers, plane: Plane, across: int, first: int, blocks: int) -> None:
    """Copy the blocks of a tile back into their plane, as bytes."""
    done = 0
    while done < blocks:
        row, column = divmod(first + done, across)
        run = min(blocks - done, across - column)
        for y in range(8):
            line = plane[8 * row + y, 8 * column : 8 * (column + run)]
            numbers = tile[y * ROW + done :]
            for block in range(run):
                for x in range(8):
                    line[8 * block + x] = min(max(numbers[x * TILE + block] + 128, 0), 255)
        done += run


@jit
def _round(values: Numbers, step: int, inverse: np.float32) -> None:
    """Round coefficients, which are 8 times too large, to multiples of a step."""
    half = np.float32(4 * step) + np.float32(0.5)
    for i in range(TILE):
        value = values[i]
        size = np.int32((np.float32(abs(value)) + half) * inverse) * step
        values[i] = -size if value < 0 else size


@jit
def _double(plane: Plane, rows: int, columns: int, out: Plane) -> None:
    """Twice the rows and columns: 3/4 of the nearer and 1/4 of the farther value, in both directions."""
    last_row, last = rows - 1, columns - 1
    sums = np.empty(last + 1, np.int32)
    for y in range(out.shape[0]):
        near, far = plane[y // 2], plane[min(max(y // 2 - 1 + 2 * (y & 1), 0), last_row)]
        line = out[y]
        for x in range(sums.size):
            sums[x] = 3 * np.int32(near[x]) + far[x]
        for x in range(last):
            line[2 * x + 1] = (3 * sums[x] + sums[x + 1] + 7) >> 4
            line[2 * x + 2] = (3 * sums[x + 1] + sums[x] + 8) >> 4
        line[0] = (4 * sums[0] + 8) >> 4
        line[2 * last + 1] = (4 * sums[last] + 7) >> 4


@jit
def _add_chroma(luma: Plane, cb: Plane, cr: Plane, of_cb: int, of_cr: int, out: Plane) -> None:
    """Red, green or blue: luma plus chroma weighted by 16-bit fractions, exact in 24 bits."""
    b, r, half, centre = np.float32(of_cb), np.float32(of_cr), np.float32(32768), np.float32(128)
    low, high = np.float32(0), np.float32(255)
    for i in range(out.size):
        total = b * (np.float32(cb[i]) - centre) + r * (np.float32(cr[i]) - centre) + half
        out[i] = np.int32(min(max(np.float32(luma[i]) + np.floor(total * FRACTION), low), high))
