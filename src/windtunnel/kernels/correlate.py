"""Correlation with a small kernel whose rows are made of runs of equal values, such as a disc.

A run of one value costs one subtraction of row prefix sums however long it is. Rows that mirror each
other are added first. Prefix sums are exact integers; the weighted sums are float32.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.imaging import Image
from windtunnel.kernels.jit import jit

# float32 sums of bytes miss the true sum by less than this.
FLOAT32_MISS = np.float32(5e-4)
# A weight that cannot move any sum of bytes by a thousandth of a level, or is not even a normal number.
NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class RunKernel:
    """A kernel that is the same upside down, as runs of equal values that are not negligible.

    Attributes:
        size: its side, odd.
        row: of each run, counted from the middle row down (its mirror row is meant too).
        start, stop: first column and column after the last.
        value: the weight.
        whole: the sum of all weights.
        even: what an even area of each level becomes. The kernel's float64 sum differs from one in its
            last digits, and truncation makes a level of that: so it is in the reference.
    """

    size: int
    row: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    value: NDArray[np.float32]
    whole: np.float32
    even: NDArray[np.uint8]


def run_kernel(kernel: NDArray[np.float32]) -> RunKernel:
    """Find the runs of a kernel."""
    size = kernel.shape[0]
    found: list[tuple[int, int, int, float]] = []
    for row in range(size // 2 + 1):
        line = kernel[size // 2 + row]
        edges = np.flatnonzero(np.diff(line)) + 1
        for start, stop in zip([0, *edges], [*edges, line.size], strict=True):
            if abs(line[start]) > NEGLIGIBLE:
                found.append((row, int(start), int(stop), float(line[start])))
    rows, starts, stops, values = zip(*found, strict=True)
    total = kernel.astype(np.float64).sum()
    even = (np.clip(np.arange(256) / 255 * total, 0, 1) * 255).astype(np.uint8)
    return RunKernel(
        size,
        np.array(rows, np.int64),
        np.array(starts, np.int64),
        np.array(stops, np.int64),
        np.array(values, np.float32),
        np.float32(total),
        even,
    )


def correlate(image: Image, kernel: RunKernel) -> Image:
    """Correlate each channel with a kernel (border REFLECT_101), clip to 0..255, truncate to bytes."""
    radius = kernel.size // 2
    padded = cv2.copyMakeBorder(image, radius, radius, radius, radius, cv2.BORDER_REFLECT_101)
    return _correlate(
        np.asarray(padded, dtype=np.uint8),
        kernel.row,
        kernel.start,
        kernel.stop,
        kernel.value,
        kernel.even,
        kernel.whole,
        kernel.size,
    )


@jit
def _correlate(
    padded: NDArray[np.uint8],
    row: NDArray[np.int64],
    start: NDArray[np.int64],
    stop: NDArray[np.int64],
    value: NDArray[np.float32],
    even: NDArray[np.uint8],
    whole: np.float32,
    size: int,
) -> Image:
    radius = size // 2
    height = padded.shape[0] - size + 1
    width = padded.shape[1] - size + 1
    line = width * 3
    prefix = np.zeros((padded.shape[0], (padded.shape[1] + 1) * 3), np.int32)
    for y in range(padded.shape[0]):
        source, sums = padded[y].reshape(-1), prefix[y]
        for x in range(source.size):
            sums[x + 3] = sums[x] + np.int32(source[x])
    out = np.empty((height, width, 3), np.uint8)
    total = np.empty(line, np.float32)
    both = np.empty(prefix.shape[1], np.int32)
    for y in range(height):
        total[:] = np.float32(0)
        sums = prefix[y + radius]
        current = 0
        run = 0
        while run < row.size:
            if row[run] != current:
                current = row[run]
                above, below = prefix[y + radius - current], prefix[y + radius + current]
                for x in range(both.size):
                    both[x] = above[x] + below[x]
                sums = both
            after = sums[stop[run] * 3 : stop[run] * 3 + line]
            before = sums[start[run] * 3 : start[run] * 3 + line]
            weight = value[run]
            if run + 1 < row.size and row[run + 1] == current:
                # Two runs at a time: half as many trips through memory.
                later = sums[stop[run + 1] * 3 : stop[run + 1] * 3 + line]
                sooner = sums[start[run + 1] * 3 : start[run + 1] * 3 + line]
                second = value[run + 1]
                for x in range(line):
                    total[x] += weight * np.float32(np.int32(after[x] - before[x])) + second * np.float32(
                        np.int32(later[x] - sooner[x])
                    )
                run += 2
            else:
                for x in range(line):
                    total[x] += weight * np.float32(np.int32(after[x] - before[x]))
                run += 1
        centre = padded[y + radius].reshape(-1)[radius * 3 : radius * 3 + line]
        target = out[y].reshape(-1)
        for x in range(line):
            if abs(total[x] - np.float32(centre[x]) * whole) < FLOAT32_MISS:
                target[x] = even[centre[x]]
            else:
                target[x] = np.uint8(min(total[x], np.float32(255)))
    return out
