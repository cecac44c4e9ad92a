"""Noise of whole numbers that is the same for every value of a pixel: one alias table of 512 columns.

clip(v + n), truncated, of a whole v and a real n is clip(v + floor(n)), so that Gaussian noise is drawn as
whole numbers too. The tables are made for each image, because their parameters are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr, xlogy

from windtunnel.core.images import Image
from windtunnel.kernels.draws import word
from windtunnel.kernels.fields import fill_normal
from windtunnel.kernels.jit import jit
from windtunnel.kernels.noise_table import alias_table
from windtunnel.kernels.scratch import scratch

_BITS = np.uint32(9)
_COLUMNS = 1 << 9
_COLUMN = np.uint32(_COLUMNS - 1)
# Column c of Gaussian noise is the number c - 256: 8 standard deviations of 32.
_MIDDLE = _COLUMNS // 2
_EDGES = np.arange(-_MIDDLE + 1, _MIDDLE, dtype=np.float64)
_COUNTS = np.arange(_COLUMNS, dtype=np.float64)
_LOG_FACTORIALS = gammaln(_COUNTS + 1)
_BLOCK = 2048


def add_gaussian(image: Image, sigma: float, key: int) -> Image:
    """clip(v + N(0, sigma^2)), truncated, for every channel of every pixel; sigma up to 32."""
    below = np.concatenate([[0.0], ndtr(_EDGES / sigma), [1.0]])
    out = np.empty_like(image)
    _add_whole(image.reshape(-1), alias_table(np.diff(below)[None])[0], np.uint64(key), out.reshape(-1))
    return out


def add_hls_noise(
    hls: NDArray[np.float32], hue_spread: float, rate: float, hue_key: int, lightness_key: int
) -> None:
    """Add noise to an image in float HLS (hue 0..360, lightness 0..1), in place.

    N(0, hue_spread^2) degrees is added to the hue, which is brought back by one turn at most. Lightness
    moves towards 1 by Poisson(rate) of 255 parts of what remains.
    """
    height, width = hls.shape[:2]
    turns = fill_normal(scratch("hls noise", (height, width), np.float64), hue_key, 0.0, hue_spread)
    shares = np.exp(xlogy(_COUNTS, rate) - _LOG_FACTORIALS - rate)
    counts = alias_table((shares / shares.sum())[None])[0]
    _add_to_hls(hls.reshape(-1), turns.reshape(-1), counts, np.uint64(lightness_key))


@jit
def _drawn(table: NDArray[np.uint32], bits: np.uint32) -> np.uint32:
    """The column of an alias table that 32 random bits choose."""
    column = bits & _COLUMN
    entry = table[column]
    return column if (bits >> _BITS) < (entry >> _BITS) else entry & _COLUMN


@jit
def _add_whole(
    values: NDArray[np.uint8], table: NDArray[np.uint32], key: np.uint64, out: NDArray[np.uint8]
) -> None:
    """Works in blocks that fit the cache, one loop per step: the compiler vectorises all but the lookup."""
    words = np.empty(_BLOCK // 2, np.uint64)
    bits = words.view(np.uint32)  # two draws a word, the lower half first
    entry = np.empty(_BLOCK, np.uint32)
    for start in range(0, values.size, _BLOCK):
        source, target = values[start : start + _BLOCK], out[start : start + _BLOCK]
        first = np.uint64(start // 2)
        for i in range(words.size):
            words[i] = word(key, first + np.uint64(i))
        for i in range(source.size):
            entry[i] = table[bits[i] & _COLUMN]
        for i in range(source.size):
            stays = (bits[i] >> _BITS) < (entry[i] >> _BITS)
            noise = np.int32((bits[i] if stays else entry[i]) & _COLUMN) - np.int32(_MIDDLE)
            target[i] = np.uint8(min(max(np.int32(source[i]) + noise, np.int32(0)), np.int32(255)))


@jit
def _add_to_hls(
    hls: NDArray[np.float32], turns: NDArray[np.float64], table: NDArray[np.uint32], key: np.uint64
) -> None:
    for pixel in range(turns.size):
        hue = np.float32(np.float64(hls[3 * pixel]) + turns[pixel])
        if hue < np.float32(0):
            hue += np.float32(360)
        if hue > np.float32(360):
            hue -= np.float32(360)
        hls[3 * pixel] = hue
        count = np.float64(_drawn(table, np.uint32(word(key, np.uint64(pixel)))))
        lightness = np.float64(hls[3 * pixel + 1])
        hls[3 * pixel + 1] = np.float32(lightness + count / 255.0 * (1.0 - lightness))
