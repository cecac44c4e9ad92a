"""Memory for intermediate results that is used again by the next call."""

from __future__ import annotations

import math
import threading
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.generic)

# Larger arrays are allocated anew: they would occupy memory for as long as the process lives.
LARGEST_BYTES = 4 << 20
# A cache line, and the longest vector.
LINE_BYTES = 64


class _Kept(threading.local):
    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[np.uint8]] = {}


_kept = _Kept()


def scratch(purpose: str, shape: tuple[int, ...], dtype: type[Number]) -> NDArray[Number]:
    """An array of arbitrary content, valid until the next call for the same purpose in the same thread.

    The operating system provides new memory page by page, which takes longer than some kernels. The array
    starts at a cache line: vectors that cross one are read in twice the time.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size > LARGEST_BYTES:
        return np.empty(shape, dtype)
    array = _kept.arrays.get(purpose)
    if array is None or array.size < size:
        memory = np.empty(size + LINE_BYTES, np.uint8)
        array = _kept.arrays[purpose] = memory[-memory.ctypes.data % LINE_BYTES :][:size]
    return array[:size].view(dtype).reshape(shape)


def padded_to_line(count: int, dtype: type[Number]) -> int:
    """The least number of elements that is not below `count` and fills whole cache lines."""
    each = LINE_BYTES // np.dtype(dtype).itemsize
    return -(-count // each) * each
