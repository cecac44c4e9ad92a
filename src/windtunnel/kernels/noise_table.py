"""Pixelwise noise as a table.

Noise that depends only on the value of one channel of one pixel is a 256x256 matrix: row v holds the
probabilities of every output byte for the input byte v, with clipping and truncation already in it.
Sampling a row by the alias method costs one 32-bit draw whatever the distribution: 8 bits choose a
column, 24 bits choose between that column and its alias.

The tables of the noises that corruptions, sequences and training share are made here.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr, pdtrc, xlogy

from windtunnel.core.images import Image
from windtunnel.kernels.draws import word
from windtunnel.kernels.jit import jit

LEVELS = 256
_COLUMN = np.uint32(0xFF)  # a row of the table holds 2**8 columns
_COLUMN_BITS = np.uint32(8)
_LINE = 16  # entries in a cache line of 64 bytes
_BLOCK = 2048
# Tables kept, a quarter of a megabyte each: as many as one noise has levels in all editions.
_KEPT = 32


@lru_cache(maxsize=_KEPT)
def gaussian_table(sigma: float) -> NDArray[np.uint32]:
    """clip(x + N(0, sigma^2)), of values in units of the full range."""
    value = np.arange(LEVELS)[:, None]
    edge = np.arange(1, LEVELS)[None, :]
    # The output is the truncation of v + 255*sigma*z, clipped: it is below k where that is below k.
    return alias_table(matrix_from_cdf(ndtr((edge - value) / (255.0 * sigma))))


@lru_cache(maxsize=_KEPT)
def speckle_table(sigma: float) -> NDArray[np.uint32]:
    """clip(x + x * N(0, sigma^2))."""
    value = np.arange(LEVELS, dtype=np.float64)[:, None]
    edge = np.arange(1, LEVELS)[None, :]
    with np.errstate(divide="ignore"):
        # Black has no noise: its spread is zero, and every edge lies infinitely far above.
        return alias_table(matrix_from_cdf(ndtr((edge - value) / (value * sigma))))


@lru_cache(maxsize=_KEPT)
def uniform_table(width: float) -> NDArray[np.uint32]:
    """clip(x + U(-width, width))."""
    value = np.arange(LEVELS)[:, None]
    edge = np.arange(1, LEVELS)[None, :]
    below = np.clip((edge - value) / (2 * 255.0 * width) + 0.5, 0, 1)
    return alias_table(matrix_from_cdf(below))


@lru_cache(maxsize=_KEPT)
def shot_table(rate: float) -> NDArray[np.uint32]:
    """clip(Poisson(x * rate) / rate)."""
    # From rate photons on the output is white, so that one more column holds the whole tail.
    counts = np.arange(int(np.ceil(rate)))
    output = (np.clip(counts / rate, 0, 1) * 255).astype(np.uint8)
    matrix = np.zeros((LEVELS, LEVELS))
    for value in range(LEVELS):
        expected = value / 255 * rate
        np.add.at(matrix[value], output, np.exp(xlogy(counts, expected) - gammaln(counts + 1) - expected))
        matrix[value, 255] += pdtrc(counts[-1], expected)
    return alias_table(matrix)


def matrix_from_cdf(below: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities from cumulative ones: below[v, k] = P(output < k+1 | input v), k = 0..254."""
    edges = np.concatenate([np.zeros((LEVELS, 1)), below, np.ones((LEVELS, 1))], axis=1)
    return np.diff(edges, axis=1)


def alias_table(matrix: NDArray[np.float64]) -> NDArray[np.uint32]:
    """Turn a stochastic matrix into an alias table: the alias in the lower bits, the threshold in the others.

    The number of columns is a power of two; of 256 columns, aliases have 8 bits and thresholds 24.
    """
    bits = matrix.shape[1].bit_length() - 1
    return _alias_rows(np.ascontiguousarray(matrix), np.uint32(bits), 1 << (32 - bits))


@jit
def _alias_rows(matrix: NDArray[np.float64], bits: np.uint32, one: int) -> NDArray[np.uint32]:
    rows, columns = matrix.shape
    table = np.empty((rows, columns), np.uint32)
    small = np.empty(columns, np.int64)
    large = np.empty(columns, np.int64)
    for row in range(rows):
        share = matrix[row] * columns
        n_small = n_large = 0
        for column in range(columns):
            if share[column] < 1.0:
                small[n_small] = column
                n_small += 1
            else:
                large[n_large] = column
                n_large += 1
        while n_small > 0 and n_large > 0:
            n_small -= 1
            poor = small[n_small]
            rich = large[n_large - 1]
            threshold = np.uint32(min(one - 1, int(share[poor] * one + 0.5)))
            table[row, poor] = (threshold << bits) | np.uint32(rich)
            share[rich] -= 1.0 - share[poor]
            if share[rich] < 1.0:
                n_large -= 1
                small[n_small] = rich
                n_small += 1
        # The remaining columns differ from 1 by rounding only: each is its own alias.
        for i in range(n_small):
            table[row, small[i]] = (np.uint32(one - 1) << bits) | np.uint32(small[i])
        for i in range(n_large):
            table[row, large[i]] = (np.uint32(one - 1) << bits) | np.uint32(large[i])
    return table


def apply_noise(image: Image, table: NDArray[np.uint32], key: int) -> Image:
    """Sample every channel of every pixel from its row of an alias table."""
    out = np.empty_like(image)
    _apply(image.reshape(-1), table.reshape(-1), np.uint64(key), out.reshape(-1))
    return out


@jit
def _apply(
    values: NDArray[np.uint8], table: NDArray[np.uint32], key: np.uint64, out: NDArray[np.uint8]
) -> np.uint32:
    """Works in blocks that fit the cache, one loop per step: the compiler vectorises all but the lookup."""
    # Read every cache line in order, so that the random reads below find the table in the cache.
    seen = np.uint32(0)
    for line in range(0, table.size, _LINE):
        seen |= table[line]
    words = np.empty(_BLOCK // 2, np.uint64)
    bits = words.view(np.uint32)  # two draws a word, the lower half first
    place = np.empty(_BLOCK, np.uint32)
    entry = np.empty(_BLOCK, np.uint32)
    for start in range(0, values.size, _BLOCK):
        source, target = values[start : start + _BLOCK], out[start : start + _BLOCK]
        first = np.uint64(start // 2)
        for i in range(words.size):
            words[i] = word(key, first + np.uint64(i))
        for i in range(source.size):
            place[i] = (np.uint32(source[i]) << _COLUMN_BITS) | (bits[i] & _COLUMN)
        for i in range(source.size):
            entry[i] = table[place[i]]
        for i in range(source.size):
            stays = (bits[i] >> _COLUMN_BITS) < (entry[i] >> _COLUMN_BITS)
            target[i] = np.uint8((bits[i] if stays else entry[i]) & _COLUMN)
    return seen  # prevents the reads from being optimised away
