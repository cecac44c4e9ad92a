"""HSV: change an image's saturation and value and keep its hue.

The arithmetic is float64 in the textbook's order, so that truncation to bytes falls where the
reference's does; it goes line by line and without branches, so that the compiler can vectorise it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.images import Image
from windtunnel.kernels.jit import jit
from windtunnel.kernels.lines import lines
from windtunnel.kernels.unit import unit


@jit
def shift_saturation_and_value(
    image: Image, saturation_factor: float, saturation_shift: float, value_shift: float
) -> Image:
    """clip(S*factor + shift) and clip(V + shift) in HSV, back to RGB, truncated."""
    height, width = image.shape[:2]
    out, pixels = np.empty((height, width, 3), np.uint8), np.empty(width, np.int32)
    planes = np.empty((3, width), np.float64)
    values, shares = np.empty(width, np.float64), np.empty((3, width), np.float64)
    sources, targets = lines(image), lines(out)
    for y in range(height):
        _split_row(sources[y], saturation_factor, saturation_shift, planes, values, shares)
        _join_row(values, shares, value_shift, pixels, targets[y])
    return out


@jit
def split_value(image: Image) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The value of HSV (HxW), and the share of it that each channel has (Hx3xW), for `join_value`."""
    height, width = image.shape[:2]
    planes = np.empty((3, width), np.float64)
    values, shares = np.empty((height, width), np.float64), np.empty((height, 3, width), np.float64)
    sources = lines(image)
    for y in range(height):
        _split_row(sources[y], 1.0, 0.0, planes, values[y], shares[y])
    return values, shares


@jit
def join_value(values: NDArray[np.float64], shares: NDArray[np.float64], value_shift: float) -> Image:
    """Join a split image with clip(V + shift) as its value, truncated."""
    height, width = values.shape
    out, pixels = np.empty((height, width, 3), np.uint8), np.empty(width, np.int32)
    targets = lines(out)
    for y in range(height):
        _join_row(values[y], shares[y], value_shift, pixels, targets[y])
    return out


@jit
def _split_row(
    source: NDArray[np.uint8],
    saturation_factor: float,
    saturation_shift: float,
    planes: NDArray[np.float64],
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
) -> None:
    """Values of one row, and the channels' shares of them after the change of saturation.

    `planes` is a buffer for the row's channels.
    """
    reds, greens, blues = planes[0], planes[1], planes[2]
    new_reds, new_greens, new_blues = shares[0], shares[1], shares[2]
    for x in range(values.size):
        at = np.uint64(3 * x)  # unsigned: no negative index to look for
        reds[x] = unit(source[at])
        greens[x] = unit(source[at + np.uint64(1)])
        blues[x] = unit(source[at + np.uint64(2)])
    for x in range(values.size):
        red, green, blue = reds[x], greens[x], blues[x]
        value = max(max(red, green), blue)
        spread = value - min(min(red, green), blue)
        # Where two channels share the maximum, the later one decides, as in the reference.
        across = green - blue
        turn = 0.0
        if green == value:
            across = blue - red
            turn = 2.0
        if blue == value:
            across = red - green
            turn = 4.0
        grey = spread == 0.0
        hue = (turn + across / (1.0 if grey else spread)) / 6.0
        hue = hue + 1.0 if hue < 0.0 else hue
        hue = 0.0 if grey else hue
        saturation = 0.0 if grey else spread / value
        saturation = min(max(saturation * saturation_factor + saturation_shift, 0.0), 1.0)
        sector = np.floor(hue * 6.0)
        part = hue * 6.0 - sector
        low = 1.0 - saturation
        falling = 1.0 - part * saturation
        rising = 1.0 - (1.0 - part) * saturation
        red = 1.0
        red = falling if sector == 1.0 else red
        red = low if sector == 2.0 or sector == 3.0 else red
        red = rising if sector == 4.0 else red
        green = low
        green = rising if sector == 0.0 or sector == 6.0 else green
        green = 1.0 if sector == 1.0 or sector == 2.0 else green
        green = falling if sector == 3.0 else green
        blue = low
        blue = rising if sector == 2.0 else blue
        blue = 1.0 if sector == 3.0 or sector == 4.0 else blue
        blue = falling if sector == 5.0 else blue
        values[x] = value
        new_reds[x] = red
        new_greens[x] = green
        new_blues[x] = blue


@jit
def _join_row(
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    value_shift: float,
    pixels: NDArray[np.int32],
    target: NDArray[np.uint8],
) -> None:
    """Join one row of a split image; `pixels` is a buffer for its packed pixels."""
    reds, greens, blues = shares[0], shares[1], shares[2]
    for x in range(values.size):
        value = min(max(values[x] + value_shift, 0.0), 1.0)
        red, green = np.int32(value * reds[x] * 255.0), np.int32(value * greens[x] * 255.0)
        pixels[x] = red | green << 8 | np.int32(value * blues[x] * 255.0) << 16
    for x in range(values.size):
        at = np.uint64(3 * x)  # unsigned: no negative index to look for
        target[at] = np.uint8(pixels[x])
        target[at + np.uint64(1)] = np.uint8(pixels[x] >> 8)
        target[at + np.uint64(2)] = np.uint8(pixels[x] >> 16)
