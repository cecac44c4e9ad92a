"""Indices beyond a border, mirrored back inside."""

from __future__ import annotations

from windtunnel.kernels.jit import jit


@jit
def mirror_101(index: int, size: int) -> int:
    """Mirror an index at the middle of the border pixels: 2 1 | 0 1 2."""
    period = 2 * (size - 1)
    index %= period
    return index if index < size else period - index


@jit
def mirror_edge(index: int, size: int) -> int:
    """Mirror an index at the outer edge of the border pixels: 1 0 | 0 1 2."""
    period = 2 * size
    index %= period
    return index if index < size else period - 1 - index
