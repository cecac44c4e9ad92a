"""Correlation with a small kernel whose rows are made of runs of equal values, such as a disc.

A run of one value costs one subtraction of row prefix sums however long it is. Prefix sums are exact
integers and every product is kept in float64, so that the truncation to a byte falls where the
reference's does.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from windtunnel.imaging import Image
from windtunnel.kernels.jit import jit

Runs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


def correlate(image: Image, kernel: NDArray[np.float32]) -> Image:
    """Correlate each channel with a kernel (border REFLECT_101), clip to 0..255, truncate to bytes."""
    radius = kernel.shape[0] // 2
    padded = cv2.copyMakeBorder(image, radius, radius, radius, radius, cv2.BORDER_REFLECT_101)
    row, start, stop, value = kernel_runs(kernel)
    return _correlate(np.asarray(padded, dtype=np.uint8), row, start, stop, value, kernel.shape[0])


def kernel_runs(kernel: NDArray[np.float32]) -> Runs:
    """The runs of equal non-zero values of a kernel: row, first column, column after the last, value."""
    found: list[tuple[int, int, int, float]] = []
    for row, line in enumerate(kernel):
        edges = np.flatnonzero(np.diff(line)) + 1
        for start, stop in zip([0, *edges], [*edges, line.size], strict=True):
            if line[start] != 0:
                found.append((row, int(start), int(stop), float(line[start])))
    rows, starts, stops, values = zip(*found, strict=True)
    return (
        np.array(rows, np.int64),
        np.array(starts, np.int64),
        np.array(stops, np.int64),
        np.array(values, np.float64),
    )


@jit
def _correlate(
    padded: NDArray[np.uint8],
    row: NDArray[np.int64],
    start: NDArray[np.int64],
    stop: NDArray[np.int64],
    value: NDArray[np.float64],
    size: int,
) -> Image:
    height = padded.shape[0] - size + 1
    width = padded.shape[1] - size + 1
    line = width * 3
    prefix = np.zeros((padded.shape[0], (padded.shape[1] + 1) * 3), np.int32)
    for y in range(padded.shape[0]):
        source = padded[y].reshape(-1)
        sums = prefix[y]
        for x in range(source.size):
            sums[x + 3] = sums[x] + source[x]
    out = np.empty((height, width, 3), np.uint8)
    total = np.empty(line, np.float64)
    for y in range(height):
        total[:] = 0.0
        for run in range(row.size):
            sums = prefix[y + row[run]]
            after = sums[stop[run] * 3 : stop[run] * 3 + line]
            before = sums[start[run] * 3 : start[run] * 3 + line]
            weight = value[run]
            for x in range(line):
                total[x] += weight * (after[x] - before[x])
        target = out[y].reshape(-1)
        for x in range(line):
            target[x] = np.uint8(min(max(total[x], 0.0), 255.0))
    return out
