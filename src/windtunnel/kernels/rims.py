"""The light in drops of water, from the distance to their edges, as OpenCV computes it.

Every step has OpenCV's own precision, so that the result is equal to the last bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.kernels.jit import jit

# Steps of the chamfer distance: straight, diagonal, and as a knight moves.
STRAIGHT, DIAGONAL, KNIGHT = np.float32(1), np.float32(1.4), np.float32(2.1969)
FAR = np.float32(1e6)
# Width of the rim of a drop, in pixels.
RIM_PX = np.float32(20)
WHITE = np.int32(255)


@jit
def light_from_edges(edges: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The brightness of drops: by distance from their edges, equalised, and lit from one side."""
    near = _box_means(_distances(edges))
    return _lit_from_one_side(near, _equalising(near))


@jit
def _distances(edges: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Distance to the next edge (that is not 0), with two far pixels of border all around."""
    height, width = edges.shape
    out = np.full((height + 4, width + 4), FAR, np.float32)
    for y in range(height):
        here, edge = out[y + 2], edges[y]
        _step_from(out[y + 1], out[y], here)
        for x in range(width):
            here[x + 2] = np.float32(0) if edge[x] != 0 else here[x + 2]
        last = FAR
        for x in range(2, width + 2):
            neighbour = last + STRAIGHT
            last = here[
                x
            ]  # rarely adjacent: with correct branch prediction a pixel does not wait for the previous one
            if neighbour < last:
                last = neighbour
                here[x] = neighbour
    for y in range(height - 1, -1, -1):
        here = out[y + 2]
        _step_from(out[y + 3], out[y + 4], here)
        last = FAR
        for x in range(width + 1, 1, -1):
            neighbour = last + STRAIGHT
            last = here[x]
            if neighbour < last:
                last = neighbour
                here[x] = neighbour
    return out


@jit
def _step_from(near: NDArray[np.float32], far: NDArray[np.float32], here: NDArray[np.float32]) -> None:
    """Distances by way of the row next to this one and of the one behind it."""
    count = here.size - 4
    target = here[2 : 2 + count]
    for x in range(count):
        straight = near[x + 2] + STRAIGHT
        diagonal = min(near[x + 1], near[x + 3]) + DIAGONAL
        knight = min(min(near[x], near[x + 4]), min(far[x + 1], far[x + 3])) + KNIGHT
        target[x] = min(min(target[x], straight), min(diagonal, knight))


@jit
def _box_means(distance: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Distances, none longer than the rim, averaged over 3x3 pixels (mirrored) and truncated to pixels."""
    height, width = distance.shape[0] - 4, distance.shape[1] - 4
    columns = np.empty(width + 2, np.float64)
    out = np.empty((height, width), np.uint8)
    for y in range(height):
        above = distance[abs(y - 1) + 2]
        here = distance[y + 2]
        below = distance[(y + 1 if y + 1 < height else y - 1) + 2]
        middle = columns[1 : width + 1]
        for x in range(width):
            upper = np.float64(min(above[x + 2], RIM_PX)) + np.float64(min(here[x + 2], RIM_PX))
            middle[x] = upper + np.float64(min(below[x + 2], RIM_PX))
        columns[0], columns[width + 1] = columns[2], columns[width - 1]
        target = out[y]
        for x in range(width):
            mean = np.float32((columns[x] + columns[x + 1] + columns[x + 2]) * (1.0 / 9.0))
            target[x] = np.uint8(np.int32(mean))
    return out


@jit
def _equalising(levels: NDArray[np.uint8]) -> NDArray[np.int32]:
    """The new level of each level that makes all of them about equally frequent."""
    # Counted in turns by two lists: neighbours are often equal, and would wait for each other.
    counts = np.zeros((2, 256), np.int64)
    flat = levels.reshape(-1)
    for i in range(flat.size // 2):
        counts[0, flat[2 * i]] += 1
        counts[1, flat[2 * i + 1]] += 1
    if flat.size % 2:
        counts[0, flat[flat.size - 1]] += 1
    table = np.zeros(256, np.int32)
    lowest = 0
    while counts[0, lowest] + counts[1, lowest] == 0:
        lowest += 1
    rest = flat.size - counts[0, lowest] - counts[1, lowest]
    if rest == 0:  # a single level stays what it is
        table[lowest] = lowest
        return table
    scale = WHITE / np.float32(rest)
    seen = 0
    for level in range(lowest + 1, 256):
        seen += counts[0, level] + counts[1, level]
        table[level] = min(np.int32(np.rint(np.float32(seen) * np.float32(scale))), WHITE)
    return table


@jit
def _lit_from_one_side(levels: NDArray[np.uint8], table: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Levels put through a table and sloped, then averaged over 3x3 pixels; mirrored at the border.

    The slope is the kernel with the rows (-2, -1, 0), (-1, 1, 1) and (0, 1, 2).
    """
    height, width = levels.shape
    even = np.empty((height, width + 2), np.int32)
    for y in range(height):
        source, row = levels[y], even[y]
        for x in range(width):
            row[x + 1] = table[source[x]]
        row[0], row[width + 1] = row[2], row[width - 1]
    slope = np.empty((height, width + 2), np.int32)
    for y in range(height):
        above, here = even[abs(y - 1)], even[y]
        below = even[y + 1 if y + 1 < height else y - 1]
        row = slope[y]
        middle = row[1 : width + 1]
        for x in range(width):
            light = below[x + 1] + here[x + 1] + here[x + 2] - here[x] - above[x + 1]
            light += np.int32(2) * (below[x + 2] - above[x])
            middle[x] = min(max(light, np.int32(0)), WHITE)
        row[0], row[width + 1] = row[2], row[width - 1]
    out = np.empty((height, width), np.uint8)
    columns = np.empty(width + 2, np.int32)
    for y in range(height):
        above, here = slope[abs(y - 1)], slope[y]
        below = slope[y + 1 if y + 1 < height else y - 1]
        for x in range(width + 2):
            columns[x] = above[x] + here[x] + below[x]
        target = out[y]
        for x in range(width):
            total = columns[x] + columns[x + 1] + columns[x + 2]
            target[x] = np.uint8(np.uint32(2 * total + 9) // np.uint32(18))
    return out
