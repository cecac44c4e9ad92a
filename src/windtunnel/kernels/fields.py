"""Random fields: normal and uniform numbers on a grid, from one key."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from windtunnel.kernels.draws import word
from windtunnel.kernels.jit import jit

_S11 = np.uint64(11)
_TO_UNIT = 2.0**-53
_BLOCK = 1024


def fill_uniform(field: NDArray[np.float32], key: int, scale: float) -> NDArray[np.float32]:
    """Fill a field with uniform numbers in [-1, 1) times a scale: `Draws.uniforms` of the same key."""
    _uniform(np.uint64(key), scale, field.reshape(-1))
    return field


def fill_normal(field: NDArray[np.float64], key: int, mean: float, spread: float) -> NDArray[np.float64]:
    """Fill a field with normal numbers: the normal quantile of (word's top 53 bits + 1/2) / 2**53."""
    _normal(np.uint64(key), mean, spread, field.reshape(-1))
    return field


@jit
def _uniform(key: np.uint64, scale: float, out: NDArray[np.float32]) -> None:
    for i in range(out.size):
        share = np.float64(np.int64(word(key, np.uint64(i)) >> _S11)) * _TO_UNIT
        out[i] = np.float32(scale * (2.0 * share - 1.0))


@jit
def _normal(key: np.uint64, mean: float, spread: float, out: NDArray[np.float64]) -> None:
    """In blocks that stay in the nearest cache, and loops that the compiler vectorises."""
    share, depth, tail = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    outer = np.empty(_BLOCK, np.int64)
    for begin in range(0, out.size, _BLOCK):
        block = out[begin : begin + _BLOCK]
        for i in range(block.size):
            share[i] = (np.float64(np.int64(word(key, np.uint64(begin + i)) >> _S11)) + 0.5) * _TO_UNIT
        for i in range(block.size):  # for all values, as if all were in the middle
            block[i] = mean + spread * _middle_quantile(share[i] - 0.5)
        outer_count = 0
        for i in range(block.size):
            outer[outer_count] = i
            outer_count += abs(share[i] - 0.5) > _MIDDLE
        for n in range(outer_count):
            depth[n] = _depth(share[outer[n]])
        for n in range(outer_count):  # for all of them, as if none were far out
            tail[n] = _tail_quantile(depth[n])
        for n in range(outer_count):
            value = tail[n] if depth[n] <= _DEEP else _far_tail_quantile(depth[n])
            block[outer[n]] = mean + spread * (value if share[outer[n]] > 0.5 else -value)


# Rational approximations of the normal quantile, relative error below 1e-15:
# Wichura, algorithm AS 241 (PPND16), Applied Statistics 37 (1988).
# One for the middle, of the distance from one half; two for the tails, of the depth.
_MIDDLE = 0.425
_DEEP = 5.0


@jit
def _middle_quantile(offset: float) -> float:
    r = 0.180625 - offset * offset
    top = 2509.0809287301226727
    top = top * r + 33430.575583588128105
    top = top * r + 67265.770927008700853
    top = top * r + 45921.953931549871457
    top = top * r + 13731.693765509461125
    top = top * r + 1971.5909503065514427
    top = top * r + 133.14166789178437745
    top = top * r + 3.387132872796366608
    bottom = 5226.495278852545925
    bottom = bottom * r + 28729.085735721942674
    bottom = bottom * r + 39307.89580009271061
    bottom = bottom * r + 21213.794301586595867
    bottom = bottom * r + 5394.1960214247511077
    bottom = bottom * r + 687.1870074920579083
    bottom = bottom * r + 42.313330701600911252
    return offset * top / (bottom * r + 1.0)


@jit
def _depth(share: float) -> float:
    return math.sqrt(-math.log(min(share, 1.0 - share)))


@jit
def _tail_quantile(depth: float) -> float:
    r = depth - 1.6
    top = 7.7454501427834140764e-4
    top = top * r + 0.0227238449892691845833
    top = top * r + 0.24178072517745061177
    top = top * r + 1.27045825245236838258
    top = top * r + 3.64784832476320460504
    top = top * r + 5.7694972214606914055
    top = top * r + 4.6303378461565452959
    top = top * r + 1.42343711074968357734
    bottom = 1.05075007164441684324e-9
    bottom = bottom * r + 5.475938084995344946e-4
    bottom = bottom * r + 0.0151986665636164571966
    bottom = bottom * r + 0.14810397642748007459
    bottom = bottom * r + 0.68976733498510000455
    bottom = bottom * r + 1.6763848301838038494
    bottom = bottom * r + 2.05319162663775882187
    return top / (bottom * r + 1.0)


@jit
def _far_tail_quantile(depth: float) -> float:
    r = depth - 5.0
    top = 2.01033439929228813265e-7
    top = top * r + 2.71155556874348757815e-5
    top = top * r + 0.0012426609473880784386
    top = top * r + 0.026532189526576123093
    top = top * r + 0.29656057182850489123
    top = top * r + 1.7848265399172913358
    top = top * r + 5.4637849111641143699
    top = top * r + 6.6579046435011037772
    bottom = 2.04426310338993978564e-15
    bottom = bottom * r + 1.4215117583164458887e-7
    bottom = bottom * r + 1.8463183175100546818e-5
    bottom = bottom * r + 7.868691311456132591e-4
    bottom = bottom * r + 0.0148753612908506148525
    bottom = bottom * r + 0.13692988092273580531
    bottom = bottom * r + 0.59983220655588793769
    return top / (bottom * r + 1.0)
